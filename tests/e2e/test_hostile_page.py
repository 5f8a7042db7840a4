"""docs/hostile-input.md and SECURITY.md name only tests that exist."""

import re

import pytest

from harness import places


def written():
    """Names of the end-to-end tests, and Suite.Name of the unit tests."""
    pages = {name for path in (places.REPOSITORY / "tests/e2e").glob("test_*.py")
             for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)}
    units = {f"{suite}.{name}" for path in (places.REPOSITORY / "src").rglob("*_test.cpp")
             for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)",
                                           path.read_text(), re.M)}
    return pages | units


@pytest.mark.parametrize("page, least", [("docs/hostile-input.md", 60), ("SECURITY.md", 45)])
def test_every_test_that_the_page_names_exists(page, least):
    text = (places.REPOSITORY / page).read_text()
    named = set(re.findall(r"`(test_\w+|[A-Z]\w+\.[A-Z]\w+)`", text))
    assert len(named) > least
    assert named <= written(), named - written()
