"""`rating-worker policy` with what the ledger knows of policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import worker.policies
from tests.unit.cli.processes import cli, sql, url_of
from worker.ledger.ledger import Ledger
from worker.policies import load_policies

if TYPE_CHECKING:
    from worker.settings import Settings

SHIPPED = Path(worker.policies.__file__).parent


def write(path: Path, version: int, *, start: int = 1300, head: str = "") -> str:
    """Write a version of a policy of the operator's, and give its path as a setting."""
    text = (SHIPPED / "yiboard.toml").read_text("utf-8")
    text = text.replace('name = "yiboard"', 'name = "mine"').replace("version = 1", f"version = {version}\n{head}")
    path.write_text(text.replace("start = 1200", f"start = {start}"), "utf-8")
    return str(path)


async def register(settings: Settings, *files: str) -> None:
    """Register the policies of the files as a worker does when it starts."""
    ledger = await Ledger.open(settings, load_policies(None, [Path(file) for file in files]))
    await ledger.close()


async def test_list_with_the_ledger(settings: Settings, tmp_path: Path) -> None:
    """The list tells what is registered from what is only in a file or only in the ledger."""
    first = write(tmp_path / "mine.toml", 1)
    await register(settings, first)
    second = write(tmp_path / "mine-2.toml", 2, head='valid_from = 2026-06-01T00:00:00Z\nreason = "more for a start"')
    listed = await cli(settings, "policy", "list", "--database", "--json", RATING_POLICY_FILES=f"{first},{second}")
    assert listed.code == 0
    found = {(one["name"], one["version"]): one for one in listed.json()["policies"]}
    assert found["mine", 1]["registered_at"] is not None
    assert found["mine", 2]["registered_at"] is None
    assert not any(one["changed"] for one in found.values())
    gone = await cli(settings, "policy", "list", "--database", "--json")
    assert gone.code == 0
    [mine] = [one for one in gone.json()["policies"] if one["name"] == "mine"]
    assert (mine["version"], mine["state"], mine["file"]) == (1, "no file", None)
    shown = (await cli(settings, "policy", "list", "-d")).out
    assert "mine: rates no pool" in shown
    assert "registered" in shown


async def test_a_version_whose_file_is_gone(settings: Settings, tmp_path: Path) -> None:
    """What no file has any more is shown in words, written as a file again, and compared, from the ledger."""
    first = write(tmp_path / "mine.toml", 1)
    await register(settings, first)
    second = write(
        tmp_path / "mine-2.toml", 2, start=1350, head='valid_from = 2026-06-01T00:00:00Z\nreason = "more for a start"'
    )
    only_second = {"RATING_POLICY_FILES": second}
    without = await cli(settings, "policy", "show", "mine", 1, **only_second)
    assert without.code == 1
    assert "With --database the ledger is asked too" in without.err
    shown = await cli(settings, "policy", "show", "mine", 1, "--database", **only_second)
    assert shown.code == 0
    assert "everyone starts at 1300" in shown.out
    assert "File: none; this is what the ledger keeps." in shown.out
    diff = await cli(settings, "policy", "diff", "mine", "--database", "--json", **only_second)
    assert [(one["key"], one["before"], one["after"]) for one in diff.json()["differences"]] == [("start", 1300, 1350)]
    assert diff.json()["after"]["reason"] == "more for a start"
    again = await cli(settings, "policy", "show", "mine", 1, "--database", "--toml", **only_second)
    (tmp_path / "again.toml").write_text(again.out, "utf-8")
    await register(settings, str(tmp_path / "again.toml"))  # which it refuses for any other content


async def test_a_file_that_was_changed_under_its_number(settings: Settings, tmp_path: Path) -> None:
    """A changed file is said loudly, with what to do and what differs, and ends the list with 78."""
    path = write(tmp_path / "mine.toml", 1)
    await register(settings, path)
    write(tmp_path / "mine.toml", 1, start=1500)
    files = {"RATING_POLICY_FILES": path}
    assert (await cli(settings, "policy", "list", **files)).code == 0  # files alone can't tell
    listed = await cli(settings, "policy", "list", "--database", **files)
    assert listed.code == 78
    assert "CHANGED: mine version 1 has other content in its file" in listed.out
    assert "give the new one version 2 with a date and a reason" in listed.out
    assert "Changed under an old version number: mine 1." in listed.err
    in_json = await cli(settings, "policy", "list", "--database", "--json", **files)
    assert in_json.code == 78
    assert [one["name"] for one in in_json.json()["policies"] if one["changed"]] == ["mine"]
    assert "CHANGED" in (await cli(settings, "policy", "show", "mine", "--database", **files)).out
    diff = await cli(settings, "policy", "diff", "mine", 1, 1, "--database", **files)
    row = next(line for line in diff.out.splitlines() if "start" in line)
    assert row.split() == ["start", "1300", "1500"]


async def test_without_a_database(settings: Settings) -> None:
    """Files need no database; with --database one that is away is told, and nothing is ever written."""
    nowhere = {"RATING_DATABASE_URL": "postgresql://rating@127.0.0.1:1/rating"}
    assert (await cli(settings, "policy", "list", **nowhere)).code == 0
    away = await cli(settings, "policy", "list", "--database", **nowhere)
    assert away.code == 75
    assert "127.0.0.1:1" in away.err
    unmade = await cli(settings, "policy", "list", "-d", RATING_DATABASE_URL=url_of(settings, database="nowhere"))
    assert unmade.code == 78
    assert (await cli(settings, "policy", "list", "--database")).code == 0
    assert await sql(settings, "select count(*) from policies") == 0
