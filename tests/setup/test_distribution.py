"""The distribution is `kafka-causeway`; the command and the import are `causeway`."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_is_kafka_causeway_with_the_command_and_the_package_causeway(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as packed:
        (about,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(packed.read(about).decode())
        commands = configparser.ConfigParser()
        commands.read_string(packed.read(about.replace("METADATA", "entry_points.txt")).decode())
        typed = "causeway/py.typed" in packed.namelist()
        host = "causeway/go_filters/host.go" in packed.namelist()
        packages = {name.partition("/")[0] for name in packed.namelist() if ".dist-info/" not in name}
    assert wheel.name.startswith("kafka_causeway-")
    assert metadata["Name"] == "kafka-causeway"
    assert "fast" in metadata.get_all("Provides-Extra", [])
    assert dict(commands["console_scripts"]) == {"causeway": "causeway.cli.main:main"}
    assert packages == {"causeway"}
    assert typed, "type checkers would ignore the annotations"
    assert host, "no Go plugin could be loaded"


def test_no_page_installs_the_other_project() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"\bpip install\s+['\"]?([\w-]*causeway)\b", page.read_text())
    }
    assert named == {"kafka-causeway"}


def test_no_message_and_no_page_names_an_extra_of_the_other_project() -> None:
    texts = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("deploy/**/*.*"),
    ]
    named = {
        name for text in texts for name in re.findall(r"([\w-]*causeway)\[[a-z]+\]", text.read_text("utf-8"))
    }
    assert named == {"kafka-causeway"}
