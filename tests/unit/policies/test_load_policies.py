"""Loading: the shipped policies, an operator's own beside them, and the pools."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from shutil import copy

import pytest

import worker.policies
from tests.unit.policies.test_policy_faults import GOOD
from worker.policies import load_policies, load_policy_file
from worker.rating import Book, Match, PolicyError, Rated, Side

SHIPPED = Path(worker.policies.__file__).parent
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

POOLS = """
[pools]
"go/*" = "mine"
"*" = "biciid"
"""


def write(file: Path, text: str) -> Path:
    """Write a file."""
    file.write_text(text, "utf-8")
    return file


def refused(pools: Path | None = None, *extra: Path) -> tuple[str, ...]:
    """Give the faults of policies that are refused."""
    with pytest.raises(PolicyError) as caught:
        load_policies(pools, extra)
    return caught.value.faults


def test_the_three_policies_ship() -> None:
    """Without anything of the operator's, the three systems are there, FIDE in two versions."""
    versions = [(policy.name, policy.version) for policy in load_policies().policies]
    assert versions == [("biciid", 1), ("fide", 1), ("fide", 2), ("yiboard", 1)]


def test_a_fourth_policy_without_code(tmp_path: Path) -> None:
    """An operator's policy and pools file rate matches of a game that the worker has never heard of."""
    policies = load_policies(write(tmp_path / "my pools.toml", POOLS), [write(tmp_path / "mine.toml", GOOD)])
    outcome = Book(policies).rate(Match("m", "go/9x9", NOON, (Side("ann", 1.0), Side("bob", 0.0))))
    assert isinstance(outcome, Rated)
    assert [(change.policy.name, change.k, change.after) for change in outcome.changes] == [
        ("mine", 40.0, 1020.0),
        ("mine", 40.0, 980.0),
    ]
    assert policies.at("yi", NOON).name == "biciid"  # the pools file takes the place of the shipped one


def test_a_folder_of_policies(tmp_path: Path) -> None:
    """Every TOML file of a folder is a policy, but for the pools file and what is no TOML file."""
    pools = write(tmp_path / "pools.toml", POOLS)
    write(tmp_path / "a.toml", GOOD)
    write(
        tmp_path / "b.toml", GOOD.replace("version = 1", 'version = 2\nvalid_from = 2026-01-01T00:00:00Z\nreason = "r"')
    )
    write(tmp_path / "README.md", "no policy")
    assert load_policies(pools, [tmp_path]).at("go/19x19", NOON).version == 2


def test_a_new_version_of_a_shipped_policy(tmp_path: Path) -> None:
    """An operator adds a version of a shipped policy; it holds from its date on."""
    text = (SHIPPED / "biciid.toml").read_text("utf-8")
    text = text.replace("version = 1", 'version = 2\nvalid_from = 2026-03-01T12:00:00Z\nreason = "Review of 2026"')
    policies = load_policies(None, [write(tmp_path / "biciid-2.toml", text.replace("k = 16", "k = 12"))])
    assert policies.at("shax", NOON).version == 2
    assert policies.at("shax", datetime(2026, 3, 1, 11, 59, tzinfo=UTC)).version == 1


def test_the_same_file_twice(tmp_path: Path) -> None:
    """A copy of a policy, comments apart, adds nothing and does no harm."""
    copied = Path(copy(SHIPPED / "yiboard.toml", tmp_path))
    write(copied, "# our copy\n" + copied.read_text("utf-8"))
    assert load_policies(None, [tmp_path, copied]).policies == load_policies().policies


def test_two_contents_of_one_version(tmp_path: Path) -> None:
    """A file that gives a known version other content is refused, and both files are named."""
    text = (SHIPPED / "yiboard.toml").read_text("utf-8").replace("k = 64", "k = 63")
    changed = write(tmp_path / "yiboard.toml", text)
    assert refused(None, changed) == (
        f"{changed}: version = 1: {SHIPPED / 'yiboard.toml'} has it with different content",
    )


def test_versions_with_the_same_date(tmp_path: Path) -> None:
    """A version that does not hold from later on than the one before is refused, and its file is named."""
    text = (SHIPPED / "fide-2.toml").read_text("utf-8").replace("version = 2", "version = 3")
    file = write(tmp_path / "fide-3.toml", text)
    date = "2025-10-01 00:00:00+00:00"
    assert refused(None, file) == (
        f"{file}: version 3: valid_from = {date}: must be later than that of version 2, {date}",
    )


def test_pools_of_an_unknown_policy(tmp_path: Path) -> None:
    """A pool that names no policy is refused, and the policies that there are are named."""
    pools = write(tmp_path / "pools.toml", '[pools]\n"go" = "mine"\n')
    assert refused(pools) == (f"{pools}: pools, \"go\" = 'mine': no such policy; there are biciid, fide, yiboard",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "pools: is missing"),
        ("pools = 3", "pools = 3: should be a table"),
        ("[pools]\nyi = 3", "pools, yi = 3: should be text"),
        ("[pools]\n'' = 'yiboard'", "pools,  = '': should not be empty"),
        ("[pool]\nyi = 'yiboard'\n[pools]\nyi = 'yiboard'", "pool: no such key; there are pools"),
        ("[pools", "is not TOML: Expected ']' at the end of a table declaration (at end of document)"),
    ],
)
def test_faults_of_a_pools_file(text: str, fault: str, tmp_path: Path) -> None:
    """A pools file that says nothing sensible is refused like a policy file."""
    pools = write(tmp_path / "pools.toml", text)
    assert refused(pools) == (f"{pools}: {fault}",)


def test_the_faults_of_all_files_at_once(tmp_path: Path) -> None:
    """Every file is read before a fault is told, and a policy that could not be read is not called unknown as well."""
    one = write(tmp_path / "1.toml", GOOD.replace("k = 40", "k = 0"))
    two = write(tmp_path / "2.toml", "name = ")
    pools = write(tmp_path / "pools", "[pools]\ngo = 'mine'\nyi = 3")
    assert [fault.partition(": ")[0] for fault in refused(pools, tmp_path)] == [str(one), str(two), str(pools)]
    write(pools, "[pools]\ngo = 'mine'")
    assert [fault.partition(": ")[0] for fault in refused(pools, tmp_path)] == [str(one), str(two)]


def test_a_missing_folder(tmp_path: Path) -> None:
    """A path that is not there is a fault, not an empty folder."""
    assert refused(None, tmp_path / "policies") == (
        f"{tmp_path / 'policies'}: cannot be read: No such file or directory",
    )


def test_each_file_by_itself() -> None:
    """Every shipped file can be checked alone."""
    for file in SHIPPED.glob("*.toml"):
        if file.name != "pools.toml":
            assert file.name.startswith(load_policy_file(file).name)
