"""Pure decisions: no I/O, no clock, no randomness that is not handed in."""
