"""Texts that try to be more than text: for a browser, a terminal, a log, a query, a file system."""

from __future__ import annotations

from hypothesis import strategies as st

BIDI = "\u202eexe.nwod\u2066"
TEXTS = (
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "{{ 7 * 7 }}", "${env:HOME}",
    "\x1b[2J\x1b[31mred", "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07", "\x9b31m", "\r\nerror: forged",
    "[red]markup[/red]", "[link=http://evil.example]x[/link]", "[/]", "\\", "a\\[red]", BIDI,
    "\u200bzero\u200dwidth", "\ud800", "\udcff", "\x00", "\x7f", "'; DROP TABLE x; --", "../../etc/passwd",
    "..\\..\\x", "%2e%2e%2f", "a" * 10_000, '"} 1\nforged{x="', "\u2028\u2029", "\ufeff", "𝕏🏳️‍🌈", "%s%n", "",
)  # fmt: skip

NASTY = st.sampled_from(TEXTS) | st.text(st.characters(), max_size=30)
"""Any characters, also those that no text of a broker should have."""
