"""Go's flag syntax, and where ours is stricter."""

from __future__ import annotations

import pytest

from causeway.compat.go_mirrormaker.flags import CommandFlag, parse, whole_number
from causeway.errors import UsageError

FLAGS = (
    CommandFlag("prefix", "text", "empty", ""),
    CommandFlag("consumer.config", "texts", "none", ""),
    CommandFlag("queue.size", "number", "10000", ""),
    CommandFlag("preserve.order", "boolean", "false", ""),
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-prefix", "a", "-queue.size", "3", "-preserve.order"],
        ["--prefix", "a", "--queue.size", "3", "--preserve.order"],
        ["--prefix=a", "-queue.size=3", "--preserve.order=true"],
        ["--preserve.order=T", "--queue.size=0x3", "--prefix", "a", "--"],
    ],
)
def test_one_dash_or_two_with_and_without_an_equals_sign(arguments: list[str]) -> None:
    assert parse(FLAGS, arguments).values == {"prefix": "a", "queue.size": 3, "preserve.order": True}


def test_flags_that_are_not_given_have_no_value() -> None:
    given = parse(FLAGS, [])
    assert given.values == {}
    assert (given.text("prefix"), given.texts("consumer.config"), given.number("queue.size")) == (
        "",
        [],
        None,
    )
    assert not given.boolean("preserve.order")


def test_a_value_may_look_like_a_flag_and_contain_equals_signs() -> None:
    given = parse(FLAGS, ["--prefix", "--queue.size", "--consumer.config=a=b", "--consumer.config", "c"])
    assert given.text("prefix") == "--queue.size"
    assert given.texts("consumer.config") == ["a=b", "c"]


def test_the_last_of_several_counts_with_a_note() -> None:
    given = parse(FLAGS, ["--prefix=a", "--prefix=b", "--prefix="])
    assert given.text("prefix") == ""
    assert given.repeated == ["prefix"]


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", "True"])
def test_booleans_that_are_true(value: str) -> None:
    assert parse(FLAGS, [f"--preserve.order={value}"]).values == {"preserve.order": True}


@pytest.mark.parametrize("value", ["0", "f", "F", "FALSE", "false", "False"])
def test_booleans_that_are_false(value: str) -> None:
    assert parse(FLAGS, [f"--preserve.order={value}"]).values == {"preserve.order": False}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0), ("10000", 10_000), ("+7", 7), ("-7", -7), ("0x10", 16), ("0b11", 3), ("0o17", 15),
        ("017", 15), ("10_000", 10_000), ("0x_ff", 255),
        ("", None), ("1.5", None), ("08", None), ("1__0", None), ("ten", None), (" 1", None), ("0x", None),
    ],
)  # fmt: skip
def test_whole_numbers_as_go_writes_them(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("flag", ["-h", "--h", "-help", "--help"])
def test_help_is_recognized(flag: str) -> None:
    assert parse(FLAGS, [flag]).help


@pytest.mark.parametrize(
    ("arguments", "what", "todo"),
    [
        (["--prefx", "a"], 'unknown flag --prefx, did you mean "--prefix"?', "`--help` lists every flag"),
        (["--zzz"], "unknown flag --zzz", "`--help` lists every flag"),
        (["--prefix"], "--prefix needs a value", ""),
        (["--queue.size=many"], '--queue.size must be an integer, not "many"', ""),
        (["--preserve.order=yes"], '--preserve.order must be true or false, not "yes"', ""),
        (["---prefix=a"], "---prefix: a flag has one or two dashes and a name", ""),
        (["--=a"], "--: a flag has one or two dashes and a name", ""),
        (["a.config"], 'unexpected argument "a.config"', "flags begin with a dash"),
        (["--prefix=a", "--", "b"], 'unexpected argument "b"', "flags begin with a dash"),
        (["-"], 'unexpected argument "-"', "flags begin with a dash"),
        (
            ["--preserve.order", "true", "--prefix=a"],  # Go would forget the prefix
            'unexpected argument "true"',
            "a boolean is written --preserve.order=true",
        ),
        (["properties.sasl.password=secret"], 'unexpected argument "properties.sasl.password"',
         "flags begin with a dash"),
    ],
)  # fmt: skip
def test_arguments_that_are_refused(arguments: list[str], what: str, todo: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(FLAGS, arguments)
    assert (caught.value.what, caught.value.todo) == (what, todo)
    assert caught.value.exit_code == 2
