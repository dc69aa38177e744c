"""Secrets under [spark.properties]: Spark has them, and neither command lines nor its page show them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.spark import launching

CANARY = "cAnArY \\ = é"
PROGRAM = """
import json, os, sys, tempfile, threading, urllib.request
import psutil
from pathlib import Path
from causeway.config import SparkSettings
from causeway.spark import session
from support.process import descendants, eventually

seen, files, over = set(), {}, threading.Event()

def watch():
    while not over.wait(0.02):
        for pid in descendants(os.getpid()):
            try:
                seen.add(Path(f"/proc/{pid}/cmdline").read_text())
            except OSError:
                pass
        for path in Path(tempfile.gettempdir()).glob("*.properties"):
            try:
                files[str(path)] = path.stat().st_mode
            except OSError:
                pass

watcher = threading.Thread(target=watch, daemon=True)
watcher.start()
settings = SparkSettings(log_dir=sys.argv[1], properties={
    "spark.hadoop.innocent": "${env:CANARY}",
    "spark.ssl.keyPassword": os.environ["CANARY"],
    "spark.pieces": "a:${env:CANARY}:b",
    "spark.driver.memory": "${env:MEMORY}",
    "spark.open": "shown",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.redaction.regex": "mine",
})
spark = session.start(settings, 1, "causeway")
over.set()
watcher.join()
page = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}/environment"
conf = spark.sparkContext.getConf()
answer = ""

def answered():
    global answer
    try:
        answer = urllib.request.urlopen(page).read().decode()
    except OSError:
        return False
    return "sparkProperties" in answer

eventually(answered, "Spark's page")
def listening():
    for pid in (os.getpid(), *descendants(os.getpid())):
        for connection in psutil.Process(pid).net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                yield connection.laddr.ip

print(json.dumps({
    "cmdlines": sorted(seen),
    "listening": sorted(set(listening())),
    "directories": {str(path): path.stat().st_mode for path in Path(tempfile.gettempdir()).iterdir()},
    "files": files,
    "left": [str(path) for path in Path(tempfile.gettempdir()).glob("*.properties")],
    "arguments": os.environ.get("PYSPARK_SUBMIT_ARGS"),
    "conf": dict(conf.getAll()),
    "page": answer,
}))
session.stop(spark)
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    here = tmp_path_factory.mktemp("spark")
    (here / "conf").mkdir()
    (here / "tmp").mkdir()
    (here / "conf" / "spark-defaults.conf").write_text("spark.of.defaults yes\nspark.open hidden\n")
    environ = {
        **os.environ,
        "CANARY": CANARY,
        "MEMORY": "600m",
        "TMPDIR": str(here / "tmp"),
        "SPARK_CONF_DIR": str(here / "conf"),
        "SPARK_LOCAL_DIRS": str(here / "tmp"),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.of.arguments=yes pyspark-shell",
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    environ.pop("SPARK_LOCAL_IP", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(here / "logs")],
        env=environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    logs = "".join(path.read_text() for path in (here / "logs").iterdir())
    modes = {path.name: path.stat().st_mode for path in (here / "logs").iterdir()}
    return {**json.loads(done.stdout.splitlines()[-1]), "logs": logs, "log modes": modes}


def test_no_command_line_of_any_process_has_them(seen: dict[str, object]) -> None:
    lines = seen["cmdlines"]
    assert isinstance(lines, list)
    assert any("org.apache.spark.launcher.Main" in line for line in lines)
    assert any("org.apache.spark.deploy.SparkSubmit" in line for line in lines)
    assert not [line for line in lines if "cAnArY" in line]
    assert "cAnArY" not in str(seen["logs"])


def test_spark_has_them_and_what_it_had_before(seen: dict[str, object]) -> None:
    conf = seen["conf"]
    assert isinstance(conf, dict)
    assert conf["spark.hadoop.innocent"] == conf["spark.ssl.keyPassword"] == CANARY
    assert conf["spark.pieces"] == f"a:{CANARY}:b"
    assert conf["spark.open"] == "shown"
    assert conf["spark.of.defaults"] == conf["spark.of.arguments"] == "yes"
    # What the JVM's start needs is known then, wherever it came from.
    assert any("-Xmx600m" in line for line in seen["cmdlines"])  # type: ignore[attr-defined]


def test_the_file_was_the_owners_alone_and_is_gone(seen: dict[str, object]) -> None:
    files = seen["files"]
    assert isinstance(files, dict)
    assert [stat.S_IMODE(mode) for mode in files.values()] == [0o600]
    assert seen["left"] == []
    assert seen["arguments"] == "--conf spark.of.arguments=yes pyspark-shell"


def test_sparks_own_page_does_not_show_them(seen: dict[str, object]) -> None:
    page = str(seen["page"])
    assert "cAnArY" not in page
    shown = dict(json.loads(page)["sparkProperties"])
    assert shown["spark.open"] == "shown"
    assert shown["spark.hadoop.innocent"] == shown["spark.pieces"] == "*********(redacted)"


def test_it_listens_for_this_machine_alone(seen: dict[str, object]) -> None:
    """Its web UI too, which listens everywhere by default."""
    addresses = seen["listening"]
    assert isinstance(addresses, list)
    assert {address.removeprefix("::ffff:") for address in addresses} == {"127.0.0.1"}


def test_no_other_user_can_read_its_directories_and_logs(seen: dict[str, object]) -> None:
    for kind in ("directories", "log modes"):
        modes = seen[kind]
        assert isinstance(modes, dict)
        assert modes
        assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def test_values_are_written_as_java_reads_them() -> None:
    text = launching.as_properties({"spark.a": " lead\\tail\nnext\r\té", "spark.b": "=:#!"})
    assert text == "spark.a=\\ lead\\\\tail\\nnext\\r\\té\nspark.b==:#!\n"
