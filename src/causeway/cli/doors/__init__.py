"""The commands of the front doors: `causeway ktm`, `mirrormaker`, `kaf-relay`, `reo`, and `convert`."""
