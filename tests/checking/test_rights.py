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
        remark = result.only(setup.mirror, "problem")
        assert f"topic {closed} on dst must not be written to: this user has no WRITE permission" in remark
        assert f"kafka-acls.sh --add --allow-principal User:… --producer --topic {closed}" in remark
        rights.grant(closed)
        assert not setup.check(setup.config(closed, open_)).of(setup.mirror, "problem")
