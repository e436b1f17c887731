"""The README can't go stale where a machine can tell."""

from __future__ import annotations

from pathlib import Path

from worker.settings import settings_table

README = Path(__file__).parents[2] / "README.md"


def test_the_settings_table_is_the_one_of_the_code() -> None:
    """The table of settings in the README is what `rating-worker settings` prints."""
    text = README.read_text(encoding="utf-8")
    table = text.partition("a test compares -->")[2].partition("<!-- /settings -->")[0]
    assert table.strip() == settings_table().strip()


def test_what_the_readme_links_to_is_there() -> None:
    """Every link to a file of this repository leads somewhere."""
    text = README.read_text(encoding="utf-8")
    targets = [part.partition(")")[0].partition("#")[0] for part in text.split("](")[1:]]
    missing = [to for to in targets if not to.startswith("http") and not (README.parent / to).exists()]
    assert targets
    assert missing == []
