"""Tests of `causeway check`."""
