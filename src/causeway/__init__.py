"""Causeway mirrors Kafka topics: every record, exactly once, in order, bit for bit."""

__version__ = "0.1.0"
