"""`causeway demo`: the whole of Causeway in a minute, on two clusters that exist for it alone.

command   the command line: options, and what is cleaned up whatever happens
play      the acts in their order: write, mirror, kill, go on, trickle, verify, stop
stage     what the acts need: two clusters, a configuration, directories; removed or kept
traffic   what is written to the source (records: what those records look like)
carried   how far the mirror is, and how fast it was
arrived   how many records reached the destination
latency   how long a record takes
summary   the numbers, and how people and programs are told them
steps     what is happening, line by line, on stderr
"""

from causeway.cli.demo.command import demo

__all__ = ["demo"]
