"""Texts of others on their way to a terminal or a log: of filters, of brokers, of a ledger.

A control character in one of them could clear the screen, hide a line or forge one.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line: white space is a space, and what cannot be printed is shown as an escape."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else _escaped(sign) for sign in text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
