"""`causeway demo`: all of Causeway in two minutes, on two clusters created for it.

command       the command line: options, and cleanup in every case
scenario      the steps in order: write, mirror, kill, restart, warm up, measure, verify, stop
failover_scenario   the steps of `--failover`: write to a pool, kill a node, suspend the next one, verify
watched_mirror  the mirror of either scenario: wait, verify, stop
environment   what the steps need: clusters, a configuration, directories; removed or kept
traffic       what is written to the source (records: what those records look like)
ledger_watch  how far the mirror is, and how fast it was
arrived       how many records reached the destination
latency       how long a record takes
summary       the numbers, as text and as JSON; the commands to try next
steps         the current step, line by line, on stderr
"""

from causeway.cli.demo.command import demo

__all__ = ["demo"]
