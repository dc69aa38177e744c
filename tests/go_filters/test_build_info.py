"""The build of a Go binary, as Go's linker writes it."""

from __future__ import annotations

import pytest

from causeway.go_filters.build_info import GoBuild, read_build

MAGIC = b"\xff Go buildinf:"


def info(version: str, settings: str = "", flags: int = 2) -> bytes:
    texts = b""
    for text in (version.encode(), b"s" * 16 + settings.encode() + b"e" * 16):
        size = len(text)
        texts += bytes([size & 0x7F | 0x80, size >> 7]) + text  # a varint of two bytes
    return (MAGIC + bytes([8, flags])).ljust(32, b"\0") + texts


SETTINGS = (
    'path\tx\nbuild\t-buildmode=plugin\nbuild\t-ldflags="-s \\"w\\""\nbuild\tCGO_CFLAGS=\nbuild\tGOOS=a\n'
)


def test_version_experiments_and_settings() -> None:
    build = read_build(b"\x7fELF".ljust(48, b"x") + info("go1.26.8 X:a,b", SETTINGS))
    assert build == GoBuild(
        "go1.26.8", "a,b", {"-buildmode": "plugin", "-ldflags": '-s "w"', "CGO_CFLAGS": "", "GOOS": "a"}
    )
    assert str(build) == "go1.26.8 GOOS=a"


def test_a_constant_that_looks_like_it_is_passed_over() -> None:
    """A program that reads such binaries contains the magic too, somewhere."""
    constants = b"x" + MAGIC + b"\x08\x02".ljust(33, b"x") + info("nothing")
    build = read_build(constants.ljust(-(-len(constants) // 16) * 16, b"\0") + info("devel go1.27-abc"))
    assert build is not None
    assert build.version == "devel go1.27-abc"


def test_before_go_1_18_there_is_no_version_to_read() -> None:
    assert read_build(info("", flags=0)) == GoBuild("")


@pytest.mark.parametrize("content", [b"", b"\x7fELF", MAGIC, info("go1.26.8")[:40], b"#!/bin/sh\n" * 9])
def test_a_file_that_go_has_not_linked(content: bytes) -> None:
    assert read_build(content) is None
