"""`causeway demo`: all of Causeway in two minutes, on clusters created for it.

command            the command line: options, and cleanup in every case
scenario           the steps in order: write, mirror, kill, restart, warm up, measure, verify, stop
failover_scenario  those of --failover: write to a pool, kill a node, suspend the next one, verify
watched_mirror     the mirror of both: wait while it runs, verify, stop
environment        what the steps need: clusters, a configuration, directories; removed or kept
traffic            what is written to the source (records: what those records look like)
pool_traffic       the same records for each node of a pool
ledger_watch       how far the mirror is, how fast it was, and which nodes it reads
arrived            how many records reached the destination
arrivals           when they did, after a node failed
latency            how long a record takes
summary            the numbers, as text and as JSON; the commands to try next
failover_summary   the same of --failover
steps              the current step, line by line, on stderr
"""

from causeway.cli.demo.command import demo

__all__ = ["demo"]
