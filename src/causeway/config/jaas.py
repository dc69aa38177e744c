"""`sasl.jaas.config` of Java's clients: `LoginModule required option="value" …;`.

Reads it as Java does, with StreamTokenizer's words, quotes and escapes, so that a line means the same here.
What Java rejects is rejected. No message has a part of the text in it: it contains the password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|/[^\r\n]*)
    |"(?P<double>(?:\\.|[^"\\\r\n])*)"
    |'(?P<single>(?:\\.|[^'\\\r\n])*)'
    |(?P<word>[A-Za-z_$\u00a0-\U0010ffff][\w.$\-\u00a0-\U0010ffff]*)
    |(?P<sign>[^\x00-\x20])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = ("required", "requisite", "sufficient", "optional")
LONGEST = 16 * 1024


class LoginModule(NamedTuple):
    name: str  # without its package
    options: Mapping[str, str]


class _Token(NamedTuple):
    text: str
    is_text: bool  # a word or a quoted text; otherwise one sign


def parse(text: str) -> LoginModule:
    """The one login module; raises ValueError with a reason that quotes nothing."""
    if len(text) > LONGEST:
        raise ValueError("is too long")
    tokens = _tokens(text)
    module, flag = next(tokens, None), next(tokens, None)
    if module is None or not module.is_text:
        raise ValueError("names no login module")
    if flag is None or flag.text.lower() not in _FLAGS:
        raise ValueError('needs "required" after the login module')
    options = dict(_options(tokens))
    if next(tokens, None) is not None:
        raise ValueError('must have one login module, and nothing after its ";"')
    return LoginModule(module.text.rpartition(".")[2], options)


def _options(tokens: Iterator[_Token]) -> Iterator[tuple[str, str]]:
    for key in tokens:
        if key == _Token(";", False):
            return
        equals, value = next(tokens, None), next(tokens, None)
        if not key.is_text or equals != _Token("=", False) or value is None or not value.is_text:
            raise ValueError('must have options as name="value", in quotes')
        yield key.text, value.text
    raise ValueError('must end with ";"')


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind in ("double", "single"):
            yield _Token(_ESCAPE.sub(_escaped, match[kind]), True)
        elif kind == "word":
            yield _Token(match["word"], True)
        elif kind == "sign":
            yield _Token(match["sign"], False)


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _LETTERS.get(code, code)
