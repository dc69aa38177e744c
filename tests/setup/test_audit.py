"""`make check` looks up the dependencies, and says so when it could not; `make sbom` lists all of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import audit

ROOT = Path(__file__).parents[2]
FINE = {"name": "fine", "version": "1", "vulns": []}
UNKNOWN = {"name": "unknown", "skip_reason": "Dependency not found on PyPI"}
BAD = {"name": "bad", "version": "2", "vulns": [{"id": "CVE-2026-1", "fix_versions": ["3"]}]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text("fine==1\n")
    return tmp_path


def prints(text: str, code: int = 0, errors: str = "") -> list[str]:
    """A stand-in for pip-audit."""
    program = f"import sys; sys.stdout.write({text!r}); sys.stderr.write({errors!r}); sys.exit({code})"
    return [sys.executable, "-c", program]


def report(*dependencies: object) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


def test_no_vulnerability_is_looked_up_once_a_day(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(root, prints(report(FINE))) == 0
    assert "no known vulnerability in 1 " in capsys.readouterr().out
    assert audit.main(root, prints("never called", 1)) == 0
    assert "within the last day" in capsys.readouterr().out
    (root / "requirements.txt").write_text("fine==2\n")
    assert audit.main(root, prints(report(FINE, BAD), 1)) == 1, "others were locked since"


def test_a_vulnerability_fails_with_what_fixes_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # a failure is not kept
        assert audit.main(root, prints(report(FINE, UNKNOWN, BAD), 1)) == 1
        assert "bad 2: CVE-2026-1; fixed in: 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (prints(report(UNKNOWN)), "PyPI has none of the 1 locked"),
        (prints("", 1, "Traceback\nConnectionError: no route\n"), "ConnectionError: no route"),
        (prints("No known vulnerabilities found"), "no output"),
    ],
)
def test_offline_it_is_skipped_with_a_notice(
    root: Path, capsys: pytest.CaptureFixture[str], command: list[str], why: str
) -> None:
    """pip-audit 2.10 reports no vulnerabilities, with exit code 0, when it has looked up nothing."""
    for _ in range(2):
        assert audit.main(root, command) == 0
        shown = capsys.readouterr().err
        assert "SKIPPED" in shown
        assert why in shown


def test_its_time_is_limited(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "SECONDS", 0.3)
    hanging = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    assert audit.main(root, hanging) == 0
    assert "did not end within" in capsys.readouterr().err


def test_what_could_not_be_looked_up_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(root, prints(report(FINE, UNKNOWN))) == 0
    assert "not looked up: unknown" in capsys.readouterr().out
    assert not (root / "build" / "audited").exists()


def test_the_sbom_lists_every_locked_dependency(tmp_path: Path) -> None:
    output = tmp_path / "sbom.cdx.json"
    subprocess.run([sys.executable, ROOT / "scripts" / "sbom.py", output], check=True, capture_output=True)
    bill = json.loads(output.read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "kafka-causeway")
    assert bill["metadata"]["component"]["version"]
    listed = {(one["name"], one["version"]) for one in bill["components"]}
    locked = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", (ROOT / "requirements.txt").read_text(), re.M)
    assert locked
    assert listed == set(locked)
    assert all(one["externalReferences"][0]["hashes"] for one in bill["components"])
