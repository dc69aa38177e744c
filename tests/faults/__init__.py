"""The fault harness: scenarios with faults, what is written and read in them, and a checker that decides."""
