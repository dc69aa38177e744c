from __future__ import annotations

import base64

import pytest

from support.canaries import canary, found_in


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "x", "xy"])
def test_each_form_is_found(before: str, after: str) -> None:
    text = before + canary("name") + after
    for form in (
        text.encode(), base64.b64encode(text.encode()), base64.urlsafe_b64encode(text.encode()),
        text.encode().hex().encode(), text.encode("utf-16"), text[::-1].encode(),
    ):  # fmt: skip
        assert found_in(b"\xff" + form + b"\xff"), form


def test_nothing_else_is() -> None:
    assert found_in("canary CANARY c A n A r Y" + base64.b64encode(b"any text, and canaries").decode()) == []
