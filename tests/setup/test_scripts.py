"""The scripts, with stand-ins for apt, Python and uv that write down their calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("cat", "chmod", "cksum", "cp", "dirname", "mkdir", "mktemp", "mv", "rm", "sed", "sh", "touch")

APT_GET = """
case "$*" in
    *install*-jre-headless) mkjava 17.0.15 ;;
    *install*-venv) touch "$HERE/has-venv" ;;
    "download prometheus") [ ! -f "$HERE/broken-network" ] && touch prometheus_2.42_amd64.deb; exit ;;
esac
"""
DPKG_DEB = """
[ -f "$2" ] && mkdir -p usr/bin && touch usr/bin/promtool && chmod +x usr/bin/promtool
"""
MKJAVA = """
printf '#!/bin/sh\\necho "openjdk version \\\\"%s\\\\"" >&2\\n' "$1" >"$HERE/bin/java"
chmod +x "$HERE/bin/java"
"""
# Serves as python3 and, copied there by `-m venv`, as .venv/bin/python.
PYTHON = """
case "$*" in
    *version_info\\ \\<*) [ ! -f "$HERE/old-python" ]; exit ;;
    *ensurepip*) [ -f "$HERE/has-venv" ]; exit ;;
    *print*) echo python3.11-venv ;;
    "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    *distribution*causeway*) [ -f "$HERE/old-name" ]; exit ;;
    *pip\\ install*) [ ! -f "$HERE/broken-network" ]; exit ;;
esac
"""
UV = """
case "$*" in
    venv*) mkdir -p .venv/bin; cp "$HERE/bin/python3" .venv/bin/python ;;
esac
"""


class Machine:
    """A PATH with a few real tools and the stand-ins that a test puts there."""

    def __init__(self, here: Path) -> None:
        self.here = here
        self.bin = here / "bin"
        self.bin.mkdir()
        self.calls_file = here / "calls"
        for tool in TOOLS:
            real = shutil.which(tool)
            assert real is not None
            (self.bin / tool).symlink_to(real)
        self.add("mkjava", MKJAVA, written_down=False)
        self.be_user(0)

    def add(self, name: str, script: str = "", *, written_down: bool = True) -> None:
        note = 'echo "${0##*/} $*" >>"$HERE/calls"\n' if written_down else ""
        (self.bin / name).write_text(f"#!/bin/sh\n{note}{script}")
        (self.bin / name).chmod(0o755)

    def be_user(self, number: int) -> None:
        self.add("id", f"echo {number}", written_down=False)

    def be_debian(self, *packages: str) -> None:
        self.add("apt-get", APT_GET)
        self.add("dpkg-deb", DPKG_DEB)
        self.add("apt-cache", f'case " {" ".join(packages)} " in *" $2 "*) ;; *) exit 100 ;; esac')

    def be_fit(self) -> None:
        """Java and Python are there."""
        subprocess.run([self.bin / "mkjava", "17.0.1"], env=self.environment(), check=True)
        (self.here / "has-venv").touch()
        self.add("python3", PYTHON)

    def environment(self) -> dict[str, str]:
        return {"PATH": str(self.bin), "HERE": str(self.here)}

    def run(self, script: Path, **more: str) -> subprocess.CompletedProcess[str]:
        self.calls_file.unlink(missing_ok=True)
        environment = self.environment() | more
        return subprocess.run([script], env=environment, capture_output=True, text=True, check=False)

    def calls(self, *names: str) -> list[str]:
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        return [line for line in lines if line.split()[0] in names]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    shutil.copytree(ROOT / "scripts", place / "scripts")
    (place / "requirements.txt").write_text("some==1.0\n")
    (place / "pyproject.toml").write_text("[project]\n")
    return place


JAVA = ROOT / "scripts" / "java"


def assert_stopped_with_two_lines(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode != 0
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 2, done.stderr
    for word in words:
        assert word in done.stderr


def test_the_java_of_path(machine: Machine) -> None:
    machine.be_debian("openjdk-17-jre-headless")
    machine.be_fit()
    done = machine.run(JAVA)
    assert (done.returncode, done.stdout) == (0, f"{machine.bin}/java\n")
    assert machine.calls("apt-get") == []


def test_java_home_comes_first(machine: Machine) -> None:
    machine.be_fit()
    home = machine.here / "jdk"
    (home / "bin").mkdir(parents=True)
    shutil.copy(machine.bin / "java", home / "bin" / "java")
    assert machine.run(JAVA, JAVA_HOME=str(home)).stdout == f"{home}/bin/java\n"
    assert machine.run(JAVA, JAVA_HOME=str(machine.here / "none")).stdout == f"{machine.bin}/java\n"


def test_root_on_debian_gets_a_headless_jre(machine: Machine) -> None:
    machine.be_debian("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless")
    done = machine.run(JAVA)
    assert (done.returncode, done.stdout) == (0, f"{machine.bin}/java\n"), done.stderr
    assert machine.calls("apt-get") == [
        "apt-get update",
        "apt-get install -y --no-install-recommends openjdk-17-jre-headless",
    ]


def test_a_debian_without_17_gets_what_it_has(machine: Machine) -> None:
    machine.be_debian("openjdk-21-jre-headless")
    assert machine.run(JAVA).returncode == 0
    assert machine.calls("apt-get")[1:] == [
        "apt-get install -y --no-install-recommends openjdk-21-jre-headless"
    ]


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_does_not_count(machine: Machine, version: str) -> None:
    subprocess.run([machine.bin / "mkjava", version], env=machine.environment(), check=True)
    assert_stopped_with_two_lines(machine.run(JAVA), "Java 17", "JAVA_HOME")


def test_elsewhere_it_stops_with_two_lines(machine: Machine) -> None:
    assert_stopped_with_two_lines(machine.run(JAVA), "Java 17", "brew install openjdk@17")


def test_who_is_not_root_is_told_what_to_install(machine: Machine) -> None:
    machine.be_debian("openjdk-17-jre-headless")
    machine.be_user(1000)
    assert_stopped_with_two_lines(machine.run(JAVA), "apt-get install openjdk-17-jre-headless")
    assert machine.calls("apt-get") == []


def test_a_debian_with_no_jre_at_all_stops(machine: Machine) -> None:
    machine.be_debian()
    done = machine.run(JAVA)
    assert done.returncode != 0
    assert machine.calls("apt-get") == ["apt-get update"]
    assert "Causeway needs Java 17" in done.stderr


PIP = "python -m pip install --disable-pip-version-check"
INSTALLS = ["--quiet --require-hashes -r requirements.txt", "--quiet --no-deps --no-build-isolation -e ."]


def installs(machine: Machine) -> list[str]:
    return [call for call in machine.calls("python", "uv") if "pip install" in call]


def test_without_uv_it_is_venv_and_pip_and_the_second_run_does_nothing(
    machine: Machine, project: Path
) -> None:
    machine.be_fit()
    setup = project / "scripts" / "setup"
    done = machine.run(setup)
    assert done.returncode == 0, done.stderr
    assert "python3 -m venv .venv" in machine.calls("python3")
    assert installs(machine) == [f"{PIP} {what}" for what in INSTALLS]

    again = machine.run(setup)
    assert (again.returncode, again.stderr) == (0, "")
    assert machine.calls("python3") == []
    assert installs(machine) == []


def test_with_uv_it_is_uv(machine: Machine, project: Path) -> None:
    machine.be_fit()
    machine.add("uv", UV)
    assert machine.run(project / "scripts" / "setup").returncode == 0
    assert machine.calls("uv") == [
        "uv venv --quiet --python >=3.11 .venv",
        *(f"uv pip install --python .venv/bin/python {what}" for what in INSTALLS),
    ]


def test_a_new_lock_is_installed_into_the_same_environment(machine: Machine, project: Path) -> None:
    machine.be_fit()
    machine.run(project / "scripts" / "setup")
    (project / "requirements.txt").write_text("some==2.0\n")
    assert machine.run(project / "scripts" / "setup").returncode == 0
    assert "python3 -m venv .venv" not in machine.calls("python3")
    assert len(installs(machine)) == 2


@pytest.mark.parametrize("uv", [False, True])
def test_the_distribution_of_the_old_name_is_uninstalled_before_the_new_one_comes(
    machine: Machine, project: Path, uv: bool
) -> None:
    machine.be_fit()
    if uv:
        machine.add("uv", UV)
    machine.run(project / "scripts" / "setup")
    assert not [call for call in machine.calls("python", "uv") if "uninstall" in call]
    (machine.here / "old-name").touch()
    (project / "pyproject.toml").write_text("[project]\nname = 'kafka-causeway'\n")
    assert machine.run(project / "scripts" / "setup").returncode == 0
    pips = [call for call in machine.calls("python", "uv") if " pip " in call]
    assert ["uninstall" in call for call in pips] == [False, True, False]
    assert pips[1].endswith(" causeway")


def lose_the_interpreter(project: Path) -> None:
    (project / ".venv" / "bin" / "python").unlink()


def lose_the_stamp(project: Path) -> None:
    (project / ".venv" / "causeway-setup").unlink()


@pytest.mark.parametrize("damage", [lose_the_interpreter, lose_the_stamp])
def test_a_damaged_environment_is_made_anew(
    machine: Machine, project: Path, damage: Callable[[Path], None]
) -> None:
    machine.be_fit()
    machine.run(project / "scripts" / "setup")
    damage(project)
    (project / ".venv" / "half-installed").touch()
    assert machine.run(project / "scripts" / "setup").returncode == 0
    assert not (project / ".venv" / "half-installed").exists()
    assert len(installs(machine)) == 2


def test_a_run_that_failed_half_way_is_healed_by_the_next(machine: Machine, project: Path) -> None:
    machine.be_fit()
    setup = project / "scripts" / "setup"
    (machine.here / "broken-network").touch()
    assert machine.run(setup).returncode != 0
    assert len(installs(machine)) == 1
    (machine.here / "broken-network").unlink()
    assert machine.run(setup).returncode == 0
    assert len(installs(machine)) == 2
    assert machine.run(setup).stderr == ""


def test_an_update_that_failed_half_way_is_healed_by_the_next(machine: Machine, project: Path) -> None:
    machine.be_fit()
    setup = project / "scripts" / "setup"
    machine.run(setup)
    lock = (project / "requirements.txt").read_text()
    (project / "requirements.txt").write_text("some==2.0\n")
    (machine.here / "broken-network").touch()
    assert machine.run(setup).returncode != 0
    (machine.here / "broken-network").unlink()

    # Back to the old lock: what is installed is neither the old nor the new.
    (project / "requirements.txt").write_text(lock)
    assert machine.run(setup).returncode == 0
    assert "python3 -m venv .venv" in machine.calls("python3")
    assert len(installs(machine)) == 2


def test_no_python_that_is_new_enough(machine: Machine, project: Path) -> None:
    machine.be_fit()
    (machine.here / "old-python").touch()
    done = machine.run(project / "scripts" / "setup")
    assert done.returncode != 0
    assert "Causeway needs Python 3.11 or newer" in done.stderr
    assert "apt-get install python3" in done.stderr.splitlines()[-1]


def test_root_on_debian_gets_the_venv_module(machine: Machine, project: Path) -> None:
    machine.be_fit()
    machine.be_debian()
    (machine.here / "has-venv").unlink()
    assert machine.run(project / "scripts" / "setup").returncode == 0
    assert machine.calls("apt-get") == [
        "apt-get update",
        "apt-get install -y --no-install-recommends python3.11-venv",
    ]


def test_others_are_told_to_install_the_venv_module(machine: Machine, project: Path) -> None:
    machine.be_fit()
    (machine.here / "has-venv").unlink()
    done = machine.run(project / "scripts" / "setup")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == "Install it: apt-get install python3.11-venv"


def test_without_java_nothing_is_set_up(machine: Machine, project: Path) -> None:
    machine.add("python3", PYTHON)
    assert_stopped_with_two_lines(machine.run(project / "scripts" / "setup"), "Java 17")
    assert not (project / ".venv").exists()


@pytest.fixture
def promtool(project: Path) -> Path:
    (project / ".venv" / "bin").mkdir(parents=True)
    return project / ".venv" / "bin" / "promtool"


def test_debian_gives_promtool_out_of_a_package_that_is_not_installed(
    machine: Machine, project: Path, promtool: Path
) -> None:
    machine.be_debian()
    done = machine.run(project / "scripts" / "promtool", TMPDIR=str(machine.here))
    assert (done.returncode, done.stderr) == (0, "")
    assert os.access(promtool, os.X_OK)
    assert machine.calls("apt-get") == ["apt-get update", "apt-get download prometheus"]
    assert not [*machine.here.glob("tmp.*")]

    again = machine.run(project / "scripts" / "promtool")
    assert (again.returncode, again.stderr) == (0, "")
    assert machine.calls("apt-get") == []


def test_who_is_not_root_gets_promtool_too(machine: Machine, project: Path, promtool: Path) -> None:
    machine.be_debian()
    machine.be_user(1000)
    assert machine.run(project / "scripts" / "promtool").returncode == 0
    assert promtool.exists()
    assert machine.calls("apt-get") == ["apt-get download prometheus"]


@pytest.mark.parametrize("debian", [True, False])
def test_without_promtool_tests_are_skipped_and_the_script_says_so(
    machine: Machine, project: Path, promtool: Path, debian: bool
) -> None:
    if debian:
        machine.be_debian()
        (machine.here / "broken-network").touch()
    done = machine.run(project / "scripts" / "promtool")
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1].endswith("Install it: apt-get install prometheus")
    assert not promtool.exists()


def test_the_promtool_of_path_will_do(machine: Machine, project: Path, promtool: Path) -> None:
    machine.be_debian()
    machine.add("promtool")
    assert machine.run(project / "scripts" / "promtool").returncode == 0
    assert machine.calls("apt-get", "promtool") == []


def test_make_test_sees_to_chromium_and_promtool() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "check ready" in makefile.partition("\ntest:")[2].partition("\n\n")[0]
    recipe = makefile.partition("\nready:")[2].partition("\n\n")[0]
    assert [line for line in recipe.splitlines() if "scripts/" in line] == [
        "\t@scripts/browser",
        "\t@scripts/promtool",
    ]


def test_ci_calls_make_test_and_nothing_else(machine: Machine) -> None:
    machine.add("make")
    assert machine.run(ROOT / ".ci" / "run").returncode == 0
    assert machine.calls_file.read_text() == "make test\n"


@pytest.mark.parametrize(
    "script", ["scripts/browser", "scripts/java", "scripts/promtool", "scripts/setup", ".ci/run"]
)
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
