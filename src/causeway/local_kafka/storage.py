"""Formats a broker's data directory, as `kafka-storage format` does.

The tool writes two files. meta.properties names the cluster and the node. bootstrap.checkpoint holds
the features that this version of Kafka enables and, with a static quorum, nothing about the cluster: it is
the same for every cluster of a version. So the tool runs once per version, and its checkpoint is kept
beside the jars. (Without a checkpoint a broker starts too, but without the newer transactions.)
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from causeway.errors import SetupError
from causeway.local_kafka.cluster_shape import BrokerShape, ClusterShape, new_shape, new_uuid
from causeway.local_kafka.properties import DATA, render, server_properties

_CHECKPOINT = "bootstrap.checkpoint"


def format_broker(
    java: Path, jars: Path, cluster: ClusterShape, broker: BrokerShape, directory: Path
) -> None:
    checkpoint = jars / _CHECKPOINT
    if not checkpoint.exists():
        _make_checkpoint(java, jars, checkpoint)
    data = directory / DATA
    data.mkdir(parents=True)
    shutil.copyfile(checkpoint, data / _CHECKPOINT)
    meta = {
        "version": "1",
        "cluster.id": cluster.cluster_id,
        "node.id": str(broker.id),
        "directory.id": new_uuid(),
    }
    (data / "meta.properties").write_text(render(meta))


def _make_checkpoint(java: Path, jars: Path, checkpoint: Path) -> None:
    shape = new_shape("format", brokers=1, port=None, version="", java_options="", config={}, proxied={})
    with tempfile.TemporaryDirectory(dir=jars.parent, prefix=".format-") as scratch:
        properties = Path(scratch) / "server.properties"
        properties.write_text(render(server_properties(shape, shape.brokers[0])))
        tool = ["kafka.tools.StorageTool", "format", "-t", shape.cluster_id, "-c", str(properties)]
        done = subprocess.run(
            [str(java), "-cp", f"{jars}/*", *tool],
            cwd=scratch,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        made = Path(scratch) / DATA / _CHECKPOINT
        if done.returncode != 0 or not made.exists():
            output = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            raise SetupError(
                "Kafka's storage tool failed",
                where=str(jars),
                why=" / ".join(output[-3:]) or f"exit status {done.returncode}",
                todo=f"remove {jars}, so that the jars are downloaded again",
            )
        made.replace(checkpoint)
