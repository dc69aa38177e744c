"""`causeway check`: looks at both sides of mirrors, writes nothing, and says all it found.

A cluster that cannot be read is one finding, and whatever does not need it is looked at all the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from causeway.config import MirrorSettings, Settings
from causeway.errors import CausewayError
from causeway.mirror.check_topics import Routes, check_topics
from causeway.mirror.clusters import chosen, cluster_of
from causeway.mirror.sides import Side, look
from causeway.model.checkup import Checkup, Remark, Section, note, problem
from causeway.policy.readiness import literal_secrets
