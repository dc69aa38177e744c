"""The only package that talks to Kafka: clients, admin, consumers, producers, ledger."""
