"""The configurations in the documentation load."""

from __future__ import annotations

import re
from pathlib import Path

from causeway.planning.rules.naming import destination_name

from .conftest import Load

DOCS = Path(__file__).parents[2] / "docs"


def test_the_routes_page(loaded: Load) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (DOCS / "routes.md").read_text(), re.S)

    (mirror,) = loaded(text).mirrors

    paris, rome = mirror.for_source("paris"), mirror.for_source("rome")
    assert destination_name("orders", paris.prefix, paris.suffix, paris.rename) == "eu.orders"
    assert destination_name("payments.cards", paris.prefix, paris.suffix, paris.rename) == "cards"
    assert destination_name("bestellingen", rome.prefix, rome.suffix, rome.rename) == "eu.orders"
    assert (paris.start_at, rome.topics) == ("earliest", ("orders", "bestellingen"))
    assert mirror.partition_map == {"payments.cards": ((0, 1), (1, 0))}


def test_every_page_that_is_linked_exists() -> None:
    for page in (DOCS.parent / "README.md", *DOCS.glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+\.md)\)", page.read_text()):
            assert (page.parent / link).is_file(), f"{page.name} links to {link}"
