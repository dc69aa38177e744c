"""`causeway demo`: all of Causeway in a minute, on two clusters created for it.

command   the command line: options, and cleanup in every case
play      the steps in order: write, mirror, kill, restart, trickle, verify, stop
stage     what the steps need: two clusters, a configuration, directories; removed or kept
traffic   what is written to the source (records: what those records look like)
carried   how far the mirror is, and how fast it was
arrived   how many records reached the destination
latency   how long a record takes
summary   the numbers, as text and as JSON
steps     the current step, line by line, on stderr
"""

from causeway.cli.demo.command import demo

__all__ = ["demo"]
