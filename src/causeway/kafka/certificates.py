"""Reads from when until when a certificate is valid."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

_SEQUENCE, _VERSION_TAG, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18
_LONG = 0x80


def validity(der: bytes) -> tuple[datetime, datetime] | None:
    """Return the first and the last moment, or None for what is not a certificate."""
    try:
        tag, certificate, _ = _element(der)
        _, body, _ = _element(certificate)
        if tag != _SEQUENCE:
            return None
        tag, _, rest = _element(body)
        if tag == _VERSION_TAG:
            _, _, rest = _element(rest)  # the serial number
        _, _, rest = _element(rest)  # the signature's algorithm
        _, _, rest = _element(rest)  # the issuer
        _, dates, _ = _element(rest)
        begin_tag, begin, dates = _element(dates)
        end_tag, end, _ = _element(dates)
        return _time(begin_tag, begin), _time(end_tag, end)
    except (IndexError, ValueError):
        return None


def first_validity(pem: str) -> tuple[datetime, datetime] | None:
    """The same for the first certificate in a PEM text."""
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    at = pem.find(begin)
    last = pem.find(end, at)
    if at < 0 or last < 0:
        return None
    try:
        return validity(ssl.PEM_cert_to_DER_cert(pem[at : last + len(end)]))
    except ValueError:
        return None


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Split off the first element: its tag, its content, and what follows it."""
    tag, length, at = data[0], data[1], 2
    if length & _LONG:
        size = length & ~_LONG
        length = int.from_bytes(data[at : at + size], "big")
        at += size
    if at + length > len(data):
        raise ValueError("cut off")
    return tag, data[at : at + length], data[at + length :]


def _time(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    if tag == _UTC_TIME:  # two digits: 1950 to 2049
        text = ("19" if text[:2] >= "50" else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("not a time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
