"""Dashboard, alerts, runbook and the page about metrics speak of the families that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from causeway.reporting.families import FAMILIES

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = PROMETHEUS / "causeway.rules.yml"
RULE_TESTS = sorted((PROMETHEUS / "tests").glob("*.yml"))
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "causeway.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
}

SAMPLES = {
    family.name + suffix: {*family.labels, *(["le"] if suffix == "_bucket" else [])}
    for family in FAMILIES
    for suffix in (("_bucket", "_count", "_sum") if family.kind == "histogram" else ("",))
}
TARGET_LABELS = {"job", "instance"}
PAIRS = {")": "(", "]": "[", "}": "{"}


def expressions() -> Iterator[tuple[str, str]]:
    """Every PromQL expression, and where it is from."""
    for name, rule in ALERTS.items():
        yield name, rule["expr"]
    for panel in PANELS:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def quoted_out(expression: str) -> str:
    return re.sub(r'"[^"\\]*"', '""', expression)


def balanced(expression: str) -> bool:
    opened: list[str] = []
    for one in quoted_out(expression):
        if one in PAIRS.values():
            opened.append(one)
        elif one in PAIRS and (not opened or opened.pop() != PAIRS[one]):
            return False
    return not opened and '"' not in quoted_out(expression).replace('""', "")


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_expressions_are_balanced_and_name_families_and_labels_that_exist(
    where: str, expression: str
) -> None:
    assert balanced(expression), where
    used = re.findall(r"\bcauseway_\w+", quoted_out(expression))
    assert used
    assert set(used) <= set(SAMPLES), where
    for name, selector in re.findall(r"(causeway_\w+)\{([^}]*)\}", quoted_out(expression)):
        assert set(re.findall(r"(\w+)\s*[!=]", selector)) <= SAMPLES[name], where
    labels = set().union(*(SAMPLES[name] for name in used))
    for listed in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression):
        assert {one.strip() for one in listed.split(",")} <= labels | TARGET_LABELS, where


def test_unbalanced_expressions_would_be_seen() -> None:
    assert balanced('sum by (a) (x{b="}("}[5m])')
    assert not any(map(balanced, ("sum(x", "x)", "x{a]", 'x{a="b}')))


def test_the_dashboard_is_whole() -> None:
    numbers = [panel["id"] for panel in PANELS]
    assert len(set(numbers)) == len(numbers)
    assert {one["name"] for one in DASHBOARD["templating"]["list"]} >= {"datasource", "mirror"}
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["type"] == "row" or panel["targets"], panel["title"]
        for target in panel.get("targets", ()):
            assert target["datasource"]["uid"] == "${datasource}"
    variables = [one["definition"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]
    assert set(re.findall(r"causeway_\w+", " ".join(variables))) <= set(SAMPLES)


def test_every_family_is_on_the_dashboard() -> None:
    shown = " ".join(target["expr"] for panel in PANELS for target in panel.get("targets", ()))
    unseen = {family.name for family in FAMILIES if family.name not in shown}
    assert unseen == {"causeway_start_time_seconds"}  # restarts are an alert


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_says_how_bad_it_is_and_where_to_read_on(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"RUNBOOK.md#{alert.lower()}"


def test_the_runbook_has_a_heading_for_each_alert_and_no_other() -> None:
    text = (ROOT / "RUNBOOK.md").read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sorted(headings) == sorted(ALERTS)
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert [one for one in ("Means", "Look", "Do") if f"**{one}.**" not in section] == []
    assert set(re.findall(r"\(#(\w+)\)", text)) <= {alert.lower() for alert in ALERTS}


def test_every_alert_has_a_test_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    fires: set[str] = set()
    silent: set[str] = set()
    for path in RULE_TESTS:
        for test in yaml.safe_load(path.read_text())["tests"]:
            for one in test["alert_rule_test"]:
                (fires if one.get("exp_alerts") else silent).add(one["alertname"])
    assert fires == silent == set(ALERTS)


def test_the_page_describes_every_family_as_it_is() -> None:
    row = re.compile(r"^\| `(causeway_\w+)` \| (\w+) \|([^|]*)\|", re.MULTILINE)
    page = (ROOT / "docs" / "metrics.md").read_text()
    described = {
        name: (kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in row.findall(page)
    }
    assert described == {family.name: (family.kind, family.labels) for family in FAMILIES}
    named = set(re.findall(r"\bcauseway_\w+", page))
    assert named <= {*SAMPLES, *(family.name for family in FAMILIES)}


def promtool(*arguments: str | Path) -> str:
    beside = Path(sys.executable).parent  # where scripts/promtool puts it
    found = shutil.which("promtool") or shutil.which("promtool", path=beside)
    if found is None:
        pytest.skip("there is no promtool: scripts/promtool gets it, or apt-get install prometheus")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_the_rules() -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", RULES)


@pytest.mark.parametrize("path", RULE_TESTS, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should(path: Path) -> None:
    promtool("test", "rules", path)


def test_prometheus_understands_the_dashboards_queries(tmp_path: Path) -> None:
    asked = [target["expr"] for panel in PANELS for target in panel.get("targets", ())]
    filled = [one.replace("$__rate_interval", "5m") for one in asked]
    rules = [{"record": f"query:{number}", "expr": one} for number, one in enumerate(filled)]
    path = tmp_path / "dashboard.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", path)
