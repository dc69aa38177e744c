"""Missing permissions of the mirror's user on the destination are reported before a start."""

from __future__ import annotations

import pytest

from checking.conftest import CheckSetup
from support.rights import cluster_with_rights


def test_a_topic_that_may_not_be_written_to_is_a_problem(
    setup: CheckSetup, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with cluster_with_rights("check", tmp_path_factory.mktemp("check-rights")) as rights:
        setup.clusters["dst"] = {"bootstrap.servers": rights.cluster.internal_servers}
        closed, open_ = (setup.topic(suffix, "src") for suffix in ("closed", "open"))
        for suffix in ("closed", "open"):
            setup.topic(suffix, "dst")
        rights.deny(closed)
        setup.clusters["dst"] = rights.login

        result = setup.check(setup.config(closed, open_))

        assert result.exit_code == 4
        remark = result.only("dst", "problem")
        assert f"User:causeway lacks WRITE on topic {closed}: write the records" in remark
        assert "kafka-acls.sh --bootstrap-server" in remark
        assert f"--allow-principal User:causeway --operation Write --topic {closed}" in remark
        assert not result.of(setup.mirror, "problem")
        rights.grant(closed)
        assert not setup.check(setup.config(closed, open_)).of("dst", "problem")


def test_brokers_that_check_no_permissions_are_reported_without_any(setup: CheckSetup) -> None:
    result = setup.check(setup.config(setup.topic("t", "src")))
    for alias in ("src", "dst"):
        assert not [remark for remark in result.of(alias) if "lacks" in remark or "cannot tell" in remark]
