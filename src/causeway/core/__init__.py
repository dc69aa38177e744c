"""Frozen values that every package shares. No I/O, no decisions."""
