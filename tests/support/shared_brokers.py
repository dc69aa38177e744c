"""Settings of the brokers that all tests of a pytest worker share: most of the time they are idle.

An idle broker of a local cluster takes 1.5 % of a core, with these settings 1.0 %. A pytest worker has up to
seven of them for as long as it lives, and three workers share two cores.
"""

SHARED_BROKER = {
    "num.io.threads": "2",
    "num.network.threads": "1",  # for each listener
    "background.threads": "2",
    "group.coordinator.threads": "1",
    "broker.heartbeat.interval.ms": "1000",
}
