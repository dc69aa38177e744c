"""The native carrier: records go from consumer to producer without becoming Python objects.

Importing it raises ImportError without numba, and library.Absent without a librdkafka that it knows.
"""

from __future__ import annotations

import llvmlite.binding

from causeway.kafka.native import library

llvmlite.binding.load_library_permanently(str(library.load().path))  # the loop calls it by its names
