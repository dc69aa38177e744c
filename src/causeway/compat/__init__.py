"""Configurations of other tools, translated into Causeway's own."""
