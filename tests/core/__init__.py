"""Tests of the shared values."""
