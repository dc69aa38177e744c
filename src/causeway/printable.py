"""Makes foreign text (from filters, brokers, a ledger) safe for a terminal or a log.

A control character in it could clear the screen, hide a line or forge one.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line: white space becomes a space, other unprintable characters become escapes."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else _escaped(sign) for sign in text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
