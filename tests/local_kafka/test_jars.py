"""Jars come through the real Ivy, here from a small repository on this machine."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.errors import SetupError, UsageError
from causeway.local_kafka.ivy import read_trouble
from causeway.local_kafka.jars import resolve

DEADLINE = 60.0
GROUP = "org.example"
MODULES = {"top": ["leaf"], "leaf": [], "loud": ["slf4j-api"], "slf4j-api": []}

SETTINGS = """<ivysettings><settings defaultResolver="here"/><resolvers>
<ibiblio name="here" m2compatible="true" root="http://127.0.0.1:{port}/"/>
</resolvers></ivysettings>"""

DEPENDENCY = (
    "<dependency><groupId>org.example</groupId><artifactId>{}</artifactId><version>1.0</version></dependency>"
)
POM = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>{}</groupId><artifactId>{}</artifactId>"
    "<version>1.0</version><dependencies>{}</dependencies></project>"
)


class Repository(http.server.ThreadingHTTPServer):
    """Serves MODULES and slf4j-simple; `broken` holds endings of paths that are answered with 503."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.broken: set[str] = set()
        self.downloads: list[str] = []
        self.gate, self.at_gate = threading.Event(), threading.Event()
        self.gate.set()
        self.files: dict[str, bytes] = {}
        for artifact, needs in MODULES.items():
            self.add(GROUP, artifact, needs)
        self.add("org.slf4j", "slf4j-simple", [])

    def add(self, group: str, artifact: str, needs: list[str]) -> None:
        base = f"/{group.replace('.', '/')}/{artifact}/1.0/{artifact}-1.0"
        dependencies = "".join(DEPENDENCY.format(need) for need in needs)
        self.files[f"{base}.pom"] = POM.format(group, artifact, dependencies).encode()
        self.files[f"{base}.jar"] = artifact.encode()


class Answers(http.server.BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        self.server.at_gate.set()
        self.server.gate.wait(DEADLINE)
        body = self.server.files.get(self.path)
        broken = any(self.path.endswith(ending) for ending in self.server.broken)
        self.send_response(503 if broken else 404 if body is None else 200)
        content = b"" if broken or body is None else body
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.server.downloads.append(self.path)
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Repository]:
    settings = tmp_path / "ivysettings.xml"
    monkeypatch.setenv("CAUSEWAY_IVY_SETTINGS", str(settings))
    with Repository() as server:
        settings.write_text(SETTINGS.format(port=server.server_port))
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


def printed(text: str) -> list[str]:
    """Without the log of Kafka clients that an earlier test of this process has left."""
    return [line for line in text.splitlines() if not line.startswith("%")]


def assert_nothing_half_filled(cache: Path) -> None:
    assert names(cache / "jars") == {".lock"}
    assert not (cache / "ivy").exists()


def test_a_module_comes_with_all_it_needs_and_only_once(
    repository: Repository, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    jars = resolve(GROUP, "top", "1.0")
    assert names(jars) == {"top-1.0.jar", "leaf-1.0.jar"}
    assert (jars / "leaf-1.0.jar").read_text() == "leaf"
    said = capfd.readouterr()
    assert said.out == ""
    assert printed(said.err)[0].startswith("downloading org.example:top:1.0")
    assert "downloaded 2 jars" in said.err

    repository.downloads.clear()
    assert resolve(GROUP, "top", "1.0") == jars
    assert repository.downloads == []
    assert printed(capfd.readouterr().err) == []


def test_what_logs_through_slf4j_gets_a_voice(repository: Repository, cache: Path) -> None:
    assert names(resolve(GROUP, "loud", "1.0")) == {
        "loud-1.0.jar",
        "slf4j-api-1.0.jar",
        "slf4j-simple-1.0.jar",
    }


def test_a_version_that_does_not_exist(repository: Repository, cache: Path) -> None:
    with pytest.raises(SetupError) as caught:
        resolve(GROUP, "top", "9.9")
    assert "org.example:top:9.9" in caught.value.what
    assert caught.value.why == "not in the repository: org.example#top;9.9"
    assert_nothing_half_filled(cache)


def test_a_needed_module_that_does_not_exist(repository: Repository, cache: Path) -> None:
    del repository.files["/org/example/leaf/1.0/leaf-1.0.pom"]
    del repository.files["/org/example/leaf/1.0/leaf-1.0.jar"]
    with pytest.raises(SetupError, match=r"org\.example#leaf;1\.0"):
        resolve(GROUP, "top", "1.0")
    assert_nothing_half_filled(cache)


@pytest.mark.parametrize("broken", ["top-1.0.pom", "leaf-1.0.pom", "leaf-1.0.jar"])
def test_a_repository_in_trouble_fails_and_the_next_try_is_whole(
    repository: Repository, cache: Path, broken: str
) -> None:
    # Ivy exits 0 when a .pom fails and its .jar does not, and would then remember the module as
    # one without dependencies.
    repository.broken.add(broken)
    with pytest.raises(SetupError, match="the download failed: SERVER ERROR") as caught:
        resolve(GROUP, "top", "1.0")
    assert broken in caught.value.why
    assert_nothing_half_filled(cache)

    repository.broken.clear()
    assert names(resolve(GROUP, "top", "1.0")) == {"top-1.0.jar", "leaf-1.0.jar"}


def test_no_network(repository: Repository, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "ivysettings.xml").write_text(SETTINGS.format(port=1))
    with pytest.raises(SetupError, match="Connection refused") as caught:
        resolve(GROUP, "top", "1.0")
    assert "JAVA_TOOL_OPTIONS" in caught.value.todo
    assert_nothing_half_filled(cache)


def test_two_processes_at_once_both_end_well(repository: Repository, cache: Path) -> None:
    program = f"from causeway.local_kafka import resolve; print(resolve({GROUP!r}, 'top', '1.0'))"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outcomes = [one.communicate(timeout=DEADLINE) for one in both]
    assert [one.returncode for one in both] == [0, 0], outcomes
    assert {out.strip() for out, _ in outcomes} == {str(cache / "jars" / "top-1.0")}
    assert repository.downloads.count("/org/example/top/1.0/top-1.0.jar") == 1


def test_a_killed_download_is_waited_for_and_then_done_again(repository: Repository, cache: Path) -> None:
    # The Ivy of a killed process goes on: it must not meet the next one in the same cache.
    program = f"from causeway.local_kafka import resolve; print(resolve({GROUP!r}, 'top', '1.0'))"
    repository.gate.clear()
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as killed:
        assert repository.at_gate.wait(DEADLINE)
        killed.kill()
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as second:
        assert second.stderr is not None
        said = second.stderr.readline()
        repository.gate.set()
        out, _ = second.communicate(timeout=DEADLINE)
    assert "waiting for another process" in said
    assert second.returncode == 0
    assert names(Path(out.strip())) == {"top-1.0.jar", "leaf-1.0.jar"}
    assert names(cache / "jars") == {".lock", "top-1.0"}


def test_what_a_killed_download_left_is_thrown_away(repository: Repository, cache: Path) -> None:
    left = cache / "jars" / ".unfinished-top-1.0"
    left.mkdir(parents=True)
    (left / "half.jar").write_text("half")
    assert names(resolve(GROUP, "top", "1.0")) == {"top-1.0.jar", "leaf-1.0.jar"}
    assert not left.exists()


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Repository
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(SetupError) as caught:
        resolve(GROUP, "top", "1.0")
    assert "CAUSEWAY_CACHE" in caught.value.todo


@pytest.mark.parametrize("version", ["../1.0", "", "1.0/..", "-1"])
def test_a_version_is_not_a_path(version: str, cache: Path) -> None:
    with pytest.raises(UsageError):
        resolve(GROUP, "top", version)


def test_the_words_of_ivy() -> None:
    trouble = read_trouble(
        [
            "\tfound org.demo#top;1.0 in public",
            "\tHost repo.example not found. url=https://repo.example/a.pom",
            "\t\t:: org.demo#leaf;1.0: not found",
            "\t\t:: org.demo#other;1.0!other.jar",
            "\t\t:: ^ see resolution messages for details  ^ ::",
        ]
    )
    assert trouble.missing == ("org.demo#leaf;1.0", "org.demo#other;1.0!other.jar")
    assert trouble.network == ("Host repo.example not found. url=https://repo.example/a.pom",)
