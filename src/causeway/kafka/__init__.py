"""The only room that talks to Kafka: clients, admin, ledger, delivery."""
