"""Files, options and variables that nobody meant well with, typed as commands: a clear line and exit code 3.

Each parser gets hand-made attacks and random text, and goes through the command's own way of printing errors.
"""

from __future__ import annotations

import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causeway.config.input_limits import DEEPEST, MOST_VALUES
from support.typed import causeway

MEBIBYTE = 2**20
MOST_MEMORY = 64 * MEBIBYTE
"""Twice what the worst of the files below takes."""

Ended = CompletedProcess[str]
Typed = Callable[[bytes], Ended]


def toml(content: bytes) -> Ended:
    # The key that no version has keeps a file that happens to be right from being used.
    Path("f").write_bytes(b"no_such_key = 1\n" + content)
    return causeway("check", "f", environ={})


def mm2(content: bytes) -> Ended:
    Path("f").write_bytes(content)
    return causeway("convert", "mm2", "f", environ={})


def go(content: bytes) -> Ended:
    Path("f").write_bytes(content)
    Path("good").write_text("bootstrap.servers=a:1\n")
    files = ("--consumer.config", "f", "--producer.config", "good")
    return causeway("convert", "mirrormaker", *files, "--whitelist", "x", environ={})


def reo(content: bytes) -> Ended:
    Path("f").write_bytes(content)
    return causeway("convert", "reo", "--config", "f", environ={})


def ktm(content: bytes) -> Ended:
    Path("f").write_bytes(content)
    return causeway("convert", "ktm", "--env-file", "f", environ={})


def kaf_relay(content: bytes) -> Ended:
    Path("f").write_bytes(content)
    return causeway("convert", "kaf-relay", "--config", "f", environ={})


PARSERS: dict[str, Typed] = {
    "toml": toml, "kaf-relay": kaf_relay, "mm2": mm2, "go": go, "reo": reo, "ktm": ktm,
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(ended: Ended, *codes: int) -> None:
    assert ended.returncode in codes, ended.stderr[-2000:]
    assert "Traceback" not in ended.stderr
    lines = ended.stderr.splitlines()
    assert all(line.isprintable() for line in lines)
    assert all(
        line.startswith(("error: ", "note: ", "where: ", "why: ", "do: ", "  - ", "  … ")) for line in lines
    )
    assert len(ended.stderr) < MEBIBYTE
    if ended.returncode:
        assert any(line.startswith("error: ") for line in lines)


KEPT_BUSY = 60_000
"""Bytes of an attack: what is larger is not read, in most of these formats."""


def long(text: bytes) -> bytes:
    return text * (KEPT_BUSY // len(text))


ATTACKS = {
    "empty": b"",
    "binary": bytes(range(256)) * 10,
    "not UTF-8": b"a = 'M\xfcnchen'\n",
    "UTF-16": "a = 1\n".encode("utf-16"),
    "NUL": b"a\0b=c\0d\n\0",
    "control characters": b"\x1b[2Ja=\x1b]0;title\x07\r\n\x08\x7f\n",
    "CR alone": b"a=1\rb=2\r\rc",
    "no value": b"alone\n=\n:\n = \n",
    "bracket bomb": b"a = " + long(b"["),
    "brace bomb": b"a: " + long(b"{"),
    "dotted key": long(b"a.") + b"a = 1\n",
    "table header": b"[" + long(b"a.") + b"a]\n",
    "dashes": long(b"- "),
    "continued for ever": long(b"a=\\\n"),
    "continued, empty": long(b"\\\n"),
    "backslash at the end": b"a=1\\",
    "short escape": b"a=\\u12\n",
    "half a character": b"a=\\ud800\nb=\\udc00x\n",
    "whole character": b"a=\\ud83d\\ude00\n",
    "line break in a key": b"a\\nnote:\\ \\u001b[2J=1\n",
    "quotes": b"A='" + long(b'"') + b"'x",
    "spaces": b"A=x" + long(b" ") + b"y",
    "long key": long(b"k") + b" = 1\n",
    "long value": b"k = '" + long(b"v") + b"'\n",
    "many keys": b"".join(b"a%d=1\n" % number for number in range(6_000)),
    "many tables": b"".join(b"[t%d]\n" % number for number in range(6_000)),
    "long number": b"a = " + long(b"9"),
    "large number": b"a = 1e999999\nb = 0x" + b"f" * 10_000,
    "aliases": b"a0: &a0 [x]\n" + b"".join(
        b"a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n" % (n, n, *[n - 1] * 4) for n in range(1, 40)
    ),
    "merged aliases": b"a0: &a0 {k: v}\n" + b"".join(
        b"a%d: &a%d {<<: [*a%d, *a%d, *a%d]}\n" % (n, n, *[n - 1] * 3) for n in range(1, 40)
    ),
    "cycle": b"kafka: &k {clusters: *k}\n",
    "objects": b"!!python/object/apply:os.system ['true']\n",
    "tags": b"kafka: !!binary aGVsbG8=\nstreams: !!set {a, b}\n? [a, b]\n: c\n",
    "dates": b"a = 9999-99-99\nb: 2026-02-31\n",
    "login": b"A.sasl.jaas.config=" + b"/*" * 20_000 + b'"' + b"\\\\" * 1000 + b"\n",
}  # fmt: skip
LARGE = {
    "many keys": b"".join(b"a%d=1\n" % number for number in range(40_000)),
    "dotted key": b"a." * 200_000 + b"a = 1\n",
    "bracket bomb": b"a = " + b"[" * 500_000,
    "many parts": b"x = [" + b"1," * 150_000 + b"]",
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("parser", PARSERS)
def test_an_attack_is_refused_in_bounded_memory(parser: str, attack: str) -> None:
    PARSERS[parser](b"")  # imports are no cost of the attack
    tracemalloc.start()
    try:
        ended = PARSERS[parser](ATTACKS[attack])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    check(ended, 0, 3)
    assert most < MOST_MEMORY, f"{most:,}"


@pytest.mark.parametrize("attack", LARGE)
def test_a_large_file_is_refused_in_bounded_memory(attack: str) -> None:
    tracemalloc.start()
    try:
        ended = toml(LARGE[attack])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    check(ended, 3)
    assert most < MOST_MEMORY, f"{most:,}"


def references(*values: str) -> bytes:
    """A configuration with these topics."""
    topics = ", ".join(f'"{value}"' for value in values)
    return f'[[mirrors]]\nname = "m"\nsource = "a"\ndestination = "b"\ntopics = [{topics}]\n'.encode()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (("${file:BIG}" * 900,), "what its references stand for is larger than 1 MiB"),
        (("x${file:BIG}",) * 900, "what its references stand for is larger than 16 KiB"),
        (("${file:BIG}${env:NO}",) * 400, "${env:NO}: the environment variable is not set"),
        (("${file:BIG}" * 50,) * 100, "f: has more than 1,000 references"),
        (("${env:A}",) * 1_001, "f: has more than 1,000 references"),
    ],
    ids=["one value", "many values", "and one that is missing", "many in many", "variables"],
)
def test_references_do_not_multiply(values: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    big = tmp_path / "big"
    big.write_text("s" * MEBIBYTE)
    toml(b"")
    tracemalloc.start()
    try:
        ended = toml(references(*(value.replace("BIG", str(big)) for value in values)))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    check(ended, 3)
    assert reason in ended.stderr
    assert most < MOST_MEMORY, f"{most:,}"


COMMANDS = {
    "toml": ("check",),
    "mm2": ("convert", "mm2"),
    "reo": ("convert", "reo", "--config"),
    "ktm": ("convert", "ktm", "--env-file"),
    "kaf-relay": ("convert", "kaf-relay", "--config"),
    "go": ("convert", "mirrormaker", "--whitelist", "x", "--producer.config", "f", "--consumer.config"),
}


@pytest.mark.parametrize("parser", COMMANDS)
def test_a_file_larger_than_any_configuration_is_not_read(parser: str) -> None:
    causeway(*COMMANDS[parser], "nope", environ={})
    with Path("f").open("wb") as file:
        file.truncate(100 * 2**30)  # it takes no space on the disk
    tracemalloc.start()
    try:
        ended = causeway(*COMMANDS[parser], "f", environ={})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    check(ended, 3)
    assert re.search(r"larger than (2048|64) KiB", ended.stderr)
    assert most < 20 * MEBIBYTE


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a = " + b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "f: nested too deeply"),
        (b".".join([b"a"] * (DEEPEST + 5)) + b" = 1", f"f: a key has more than {DEEPEST} parts"),
        (b"a = [" + b"1," * MOST_VALUES + b"]", "f: has more than 100,000 values"),
        (b"a = '\xff'", "f: byte 21: not UTF-8"),
        (b"\x1b = 1", "f: line 2, column 1: not TOML: invalid statement"),
    ],
)
def test_what_a_refused_file_is_called(content: bytes, reason: str) -> None:
    assert toml(content).stderr.splitlines() == ["error: the configuration cannot be read", f"  - {reason}"]


def test_many_problems_are_not_all_listed() -> None:
    lines = toml(b"".join(b"a%d=1\n" % number for number in range(500))).stderr.splitlines()
    assert len(lines) == 103
    assert lines[101] == "  … and 403 more"


@pytest.mark.parametrize("parser", COMMANDS)
def test_files_that_are_no_files(parser: str) -> None:
    Path("f").mkdir()
    for file in ("f", "nope", "/dev/zero", "a\nb", "x" * 5_000):
        check(causeway(*COMMANDS[parser], file, environ={}), 2, 3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=300)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.lists(
        st.sampled_from(
            ["clusters", "A", "B", "->", ".", "=", ":", " ", "\n", "\r", "\t", "\\", "\\\n", "\\u00", "'",
             '"', "[", "]", "{", "}", "#", "!", "&a", "*a", "<<", "- ", "? ", "| ", "%", "@", "${env:", "${",
             "$$", "sasl.jaas.config", "required", "PlainLoginModule", ";", "bootstrap.servers", "a:1",
             "enabled", "true", "kafka", "streams", "INPUT_TOPIC", "export ", "sources", "target", "topics",
             "\x1b[2J",
             "\0", "\u2028", "\udcff", "é", "1e9", "0x", "2026-01-01"]
        ),
        max_size=30,
    ).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
)  # fmt: skip
@pytest.mark.parametrize("parser", PARSERS)
def test_any_file_is_read_or_refused(parser: str, content: bytes) -> None:
    check(PARSERS[parser](content), 0, 3)


TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=40) | st.sampled_from(
    ["[" * 3_000, "{a=" * 500, "a." * 5_000, "${env:HOME}", "${file:/dev/zero}", "${dir:/etc:../shadow}",
     "${file:/proc/self/mem}", "\x1b[2J", "\udcff\udcfe", "'''", "= =", "9" * 5_000,
     "-----BEGIN PRIVATE KEY-----"]
)  # fmt: skip
KEYS = st.sampled_from(
    ["clusters.a.bootstrap_servers", "clusters.a.properties.sasl.password", "clusters.a.sasl.mechanism",
     "clusters.a.tls.ca", "clusters.a.properties.sasl.jaas.config", "mirrors.0.topics", "mirrors.0.filters",
     "clusters.a.sasl.extensions", "web.token", "spark.properties.spark.x", "mirrors.0.partition_map.t"]
) | st.text(max_size=20)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    options=st.lists(st.tuples(KEYS, TEXTS), max_size=4),
    variables=st.lists(st.tuples(KEYS, TEXTS), max_size=3),
)
def test_any_option_and_any_variable_is_used_or_refused(
    options: list[tuple[str, str]], variables: list[tuple[str, str]]
) -> None:
    Path("f").write_text(
        'no_such_key = 1\n[clusters.a]\nbootstrap_servers = "a:1"\n[clusters.b]\nbootstrap_servers = "b:1"\n'
        '[[mirrors]]\nname = "m"\nsource = "a"\ndestination = "b"\ntopics = ["t"]\n'
    )
    pairs = ((f"CAUSEWAY__{name.replace('.', '__').upper()}", value) for name, value in variables)
    environ = {name: value for name, value in pairs if _is_possible(name, value)}
    arguments = [part for name, value in options for part in ("-X", f"{name}={value}")]
    check(causeway("check", "f", *arguments, environ=environ), 3)


def _is_possible(name: str, value: str) -> bool:
    """Whether an environment can have it."""
    try:
        return "=" not in name and "\0" not in name and bool(os.fsencode(name + value))
    except UnicodeEncodeError:
        return False
