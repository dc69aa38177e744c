"""Go's and Java's regular expressions choose the same topics here."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.compat import expressions
from causeway.planning.rules.selection import select

TOPICS = ["foo", "foobar", "barfoo", "bar", "FOO", "a.b", "a-b", "aab", "x1", "x22", "__foo", "foo,bar"]


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        (".*", ["foo", "foobar", "barfoo", "bar", "FOO", "a.b", "a-b", "aab", "x1", "x22"]),
        ("foo", ["foo", "foobar", "barfoo"]),
        ("^foo", ["foo", "foobar"]),
        ("foo$", ["foo", "barfoo"]),
        ("^foo$", ["foo"]),
        ("^foo$|^bar", ["foo", "bar", "barfoo"]),
        ("(?i)^foo$", ["foo", "FOO"]),
        ("(?i:^f)oo$", ["foo"]),
        (r"a\.b", ["a.b"]),
        ("a.b", ["a.b", "a-b", "aab"]),
        (r"\d{2}", ["x22"]),
        (r"^x\d{1,2}$", ["x1", "x22"]),
        ("^[^f]*$", ["bar", "FOO", "a.b", "a-b", "aab", "x1", "x22"]),
        ("foo,bar", []),
        ("(?P<name>^a)", ["a.b", "a-b", "aab"]),
    ],
)
def test_a_go_expression_chooses_the_same_topics(expression: str, chosen: list[str]) -> None:
    legal = [topic for topic in TOPICS if "," not in topic]
    assert select(legal, [expressions.go(expression)]) == sorted(chosen)


@given(
    st.text(alphabet="ab.-|()*+?^$[]{}12,\\di", max_size=8),
    st.text(alphabet="ab.-12", min_size=1, max_size=6),
)
def test_an_accepted_expression_matches_the_same_topics(expression: str, topic: str) -> None:
    try:
        ours = expressions.go(expression)
    except ValueError:
        return
    assert bool(re.fullmatch(ours, topic)) == bool(re.search(expression, topic))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("[[:alpha:]]+", "[:alpha:] is not a set in Python; write its characters, such as [a-z0-9]"),
        ("^[_[:^digit:]]", "[:^digit:] is not a set in Python; write its characters, such as [a-z0-9]"),
        ("foo{,3}", "{,3} is a repetition in Python, but plain text in Go"),
        ("(?=foo)", "Go has no group that begins with (?="),
        ("(?<!foo)bar", "Go has no group that begins with (?<"),
        ("(?x)f o", "Go has no group that begins with (?x"),
        (r"\pL", r"Python cannot compile it, or reads it differently: bad escape \p at position 0"),
        (r"\Qa.b\E", r"Python cannot compile it, or reads it differently: bad escape \Q at position 0"),
        ("(?U)a+", "Python cannot compile it, or reads it differently: unknown extension ?U at position 1"),
        ("a(?i)b", "Python cannot compile it, or reads it differently: global flags not at the start of the "
        "expression "
         "at position 1"),
        ("(?P>name)", "Go has no group that begins with (?P"),
        ("[a&&b]", "Python cannot compile it, or reads it differently: Possible set intersection at "
        "position 2"),
        ("foo(", "Python cannot compile it, or reads it differently: missing ), unterminated subpattern at "
        "position 3"),
    ],
)  # fmt: skip
def test_go_syntax_that_python_lacks_is_refused(expression: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        expressions.go(expression)
    assert str(caught.value) == why


@pytest.mark.parametrize("text", [r"a\{,3\}", "[{,3}]", r"\(\?=", r"[[\]:]{1,2}", r"\\"])
def test_such_syntax_is_accepted_if_escaped_or_in_a_set(text: str) -> None:
    """None of these is refused by its look; a set that begins with "[" is ambiguous in Python."""
    try:
        expressions.go(text)
    except ValueError as error:
        assert "Possible nested set" in str(error)


@pytest.mark.parametrize(
    ("entries", "chosen"),
    [
        (["foo", "bar"], ["foo", "bar"]),
        (["foo.*", "x[0-9]"], ["foo", "foobar", "x1"]),
        (["a.b"], ["a.b", "a-b", "aab"]),  # the dot is any character for Java
        ([r"a\.b"], ["a.b"]),
        (["(?i)foo", "BAR"], ["foo", "FOO", "bar"]),  # joined, so that the flag holds for both
        (["(foo", "bar).*"], ["foo", "foobar", "barfoo", "bar"]),  # joined, it is a group
        (["(?!foo).*"], ["barfoo", "bar", "FOO", "a.b", "a-b", "aab", "x1", "x22"]),
        ([], []),
    ],
)
def test_java_matches_whole_names(entries: list[str], chosen: list[str]) -> None:
    legal = [topic for topic in TOPICS if "," not in topic]
    assert select(legal, expressions.java(entries)) == sorted(chosen)


def test_plain_names_stay_names() -> None:
    assert expressions.java(["orders", "pay-ments", "a_b"]) == ["orders", "pay-ments", "a_b"]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (["x{1", "2}"], '"{1|2}" is not a repetition; a comma separates entries, also between braces'),
        (["[a-z&&[^b]]"], "a set within a set is a union in Java, but not in Python"),
        (["[a[bc]]"], "a set within a set is a union in Java, but not in Python"),
        ([r"\p{Alpha}+"], r"Python cannot compile it, or reads it differently: bad escape \p at position 0"),
        (
            ["(?<n>a)"],
            "Python cannot compile it, or reads it differently: unknown extension ?<n at position 1",
        ),
        (["*"], "Python cannot compile it, or reads it differently: nothing to repeat at position 0"),
    ],
)
def test_java_syntax_that_python_lacks_is_refused(entries: list[str], why: str) -> None:
    with pytest.raises(ValueError) as caught:
        expressions.java(entries)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("text", "left"), [("a,b", "a,b"), ("a{1,2}b", "ab"), ("[,]x", "x"), (r"a\,b", "ab")]
)
def test_text_outside_of_braces_sets_and_escapes(text: str, left: str) -> None:
    assert expressions.outside_braces(text) == left
