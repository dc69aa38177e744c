"""Looks up the locked dependencies in PyPI's database of vulnerabilities, for `make check`.

Exits with 1 if one of them has a known vulnerability. Without the network the check is skipped with a notice:
pip-audit itself reports "no known vulnerabilities" when it could not look up anything. A result without
findings is not looked up again for a day.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SECONDS = 60
"""For all of it; the responses are cached, so the next run gets further."""
VALID_SECONDS = 24 * 3600
COMMAND = [
    sys.executable, "-m", "pip_audit", "-r", "requirements.txt", "--require-hashes", "--disable-pip",
    "--progress-spinner", "off", "--timeout", "5", "--format", "json",
]  # fmt: skip
"""`--disable-pip`: the file has every dependency with its hash, so nothing must be resolved or installed."""


def main(root: Path, command: Sequence[str] = COMMAND) -> int:
    stamp = root / "build" / "audited"
    key = hashlib.sha256((root / "requirements.txt").read_bytes()).hexdigest()
    if _is_fresh(stamp, key):
        print("audit: no known vulnerability (looked up within the last day)")
        return 0
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return _skipped(f"pip-audit did not end within {SECONDS} s")
    try:
        dependencies: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return _skipped(([line for line in done.stderr.splitlines() if line.strip()] or ["no output"])[-1])
    vulnerable = [found for found in dependencies if found.get("vulns")]
    if vulnerable:
        return _reported(vulnerable)
    unknown = [found["name"] for found in dependencies if "skip_reason" in found]
    if len(unknown) == len(dependencies):
        return _skipped(f"PyPI has none of the {len(dependencies)} locked dependencies")
    print(f"audit: no known vulnerability in {len(dependencies) - len(unknown)} locked dependencies")
    if unknown:
        print(f"audit: not on PyPI, so not looked up: {', '.join(unknown)}")
        return 0
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(key)
    return 0


def _is_fresh(stamp: Path, key: str) -> bool:
    try:
        return stamp.read_text() == key and time.time() - stamp.stat().st_mtime < VALID_SECONDS
    except OSError:
        return False


def _reported(vulnerable: list[dict[str, Any]]) -> int:
    for found in vulnerable:
        for vulnerability in found["vulns"]:
            fixed = ", ".join(vulnerability.get("fix_versions") or ()) or "none yet"
            print(
                f"audit: {found['name']} {found['version']}: {vulnerability['id']}; fixed in: {fixed}",
                file=sys.stderr,
            )
    print("audit: raise the versions in pyproject.toml, then `make lock`", file=sys.stderr)
    return 1


def _skipped(why: str) -> int:
    print(
        f"audit: SKIPPED, no dependency was checked for vulnerabilities: {why[:300]}\n"
        "audit: it needs https://pypi.org; run `make check` again where that responds",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1]))
