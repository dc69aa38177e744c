"""Pure decisions that several packages share: no I/O, no clock, no randomness that is not passed in."""
