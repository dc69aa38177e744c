"""Kafka REO's YAML file and environment variables."""
