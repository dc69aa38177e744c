"""Frozen values that every room shares. No I/O, no decisions."""
