"""Writes a CycloneDX SBOM of the locked dependencies to build/sbom.cdx.json or a given file: `make sbom`.

It has every package of requirements.txt with its version and the hashes of its files, development tools
included. What packages contain (librdkafka, Spark's jars) is not listed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from causeway.version import __version__

ROOT = Path(__file__).resolve().parents[1]


def main(output: Path = ROOT / "build" / "sbom.cdx.json") -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "cyclonedx_py", "requirements", "requirements.txt",
        "--pyproject", "pyproject.toml", "--output-reproducible", "--of", "JSON", "-o", str(output.resolve()),
    ]  # fmt: skip
    # Its one warning: which package needs which is not in requirements.txt.
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    bill = json.loads(output.read_text())
    bill["metadata"]["component"]["version"] = __version__  # pyproject.toml has none: hatchling reads ours
    output.write_text(json.dumps(bill, indent=2) + "\n")
    print(f"{output}: {len(bill['components'])} packages")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
