"""The compat commands: `causeway ktm`, `mirrormaker`, `kaf-relay`, `reo`, and `convert`."""
