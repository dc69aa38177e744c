"""Names each permission that a mirror lacks on a cluster, with the line that grants it. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from causeway.checking.checked_sources import CheckedCluster
from causeway.config import MirrorSettings, Settings
from causeway.config.schema import ClusterSettings
from causeway.core.check_report import Remark, note, problem, warning
from causeway.core.permission import RequiredPermission
from causeway.errors import AccessDenied, CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.granted_permissions import GrantedPermissions
from causeway.kafka.ledger import read_image
from causeway.planning.permissions import Demand, demands, granting, principal_of
from causeway.planning.rules.permission_verdict import LackingPermission, judge, questions

MOST_NAMED = 5


def check_permissions(
    settings: Settings, mirrors: Sequence[MirrorSettings], clusters: Mapping[str, CheckedCluster]
) -> None:
    """Add to the remarks of each cluster that responds what its user lacks."""
    names = {alias: checked.view.topic_names() for alias, checked in clusters.items() if checked.view}
    mirrored = {mirror.name for mirror in mirrors if _has_run(mirror, clusters)}
    for alias, wanted in demands(settings, mirrors, lambda alias: names.get(alias, ())).items():
        checked = clusters[alias]
        if checked.view is not None:
            ran = any(demand.mirror in mirrored for demand in wanted)
            try:
                checked.remarks += _remarks(settings.clusters[alias], checked.view, wanted, mirrored=ran)
            except CausewayError as error:
                checked.remarks.append(problem(error))


def _has_run(mirror: MirrorSettings, clusters: Mapping[str, CheckedCluster]) -> bool:
    """As far as its ledger can be read."""
    view = clusters[mirror.destination].view
    try:
        return view is not None and bool(read_image(view.cluster, mirror.name).positions)
    except CausewayError:
        return False


def _remarks(
    cluster: ClusterSettings, view: ClusterView, wanted: Iterable[Demand], *, mirrored: bool
) -> Iterator[Remark]:
    granted = GrantedPermissions(view, mirrored=mirrored)
    topics: dict[RequiredPermission, set[str]] = {}
    for demand in wanted:
        for required in demand.required:
            topics.setdefault(required, set()).update(demand.topics)
    asked = set().union(*(questions(required, names) for required, names in topics.items()))
    verdict = judge(topics.items(), granted.ask(asked), granted.absent)
    user = principal_of(cluster) or "this user"
    for some in _by_line(verdict.missing):
        what = f"{user} lacks {_named(some)}: {_joined(one.required.purpose for one in some)}"
        without = _joined(one.required.without for one in some if one.required.without)
        todo = granting(cluster, [one.required for one in some])
        if without:
            yield warning(f"{what} · without it: {without}", todo)
        else:
            yield problem(AccessDenied(what, todo=todo))
    if verdict.unknown and not granted.unlimited():
        unknown = "; ".join(_named(some) for some in _by_line(verdict.unknown))
        yield note(
            f"cannot tell without writing whether {user} has {unknown}",
            "`causeway check CONFIG --print-acls` prints what grants it",
        )


def _by_line(lacking: Iterable[LackingPermission]) -> Iterator[list[LackingPermission]]:
    """Those that one line grants, optional ones apart."""
    groups: dict[object, list[LackingPermission]] = {}
    for one in lacking:
        groups.setdefault((one.required.permission.pattern, bool(one.required.without)), []).append(one)
    yield from groups.values()


def _named(lacking: Sequence[LackingPermission]) -> str:
    """READ and WRITE on topics that begin with orders. (orders.eu, orders.us)."""
    permission = lacking[0].required.permission
    operations = list(dict.fromkeys(one.required.permission.operation for one in lacking))
    names = sorted({name for one in lacking for name in one.names} - {permission.name})
    shown = [*names[:MOST_NAMED], *([f"and {len(names) - MOST_NAMED:,} more"] if names[MOST_NAMED:] else [])]
    where = permission.where + (f" ({', '.join(shown)})" if shown else "")
    return f"{' and '.join(operations)} on {where}"


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
