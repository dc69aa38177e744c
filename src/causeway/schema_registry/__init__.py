"""Schema registries: the only package that talks to one. They speak Confluent's API."""
