"""kaf-relay's configuration file."""
