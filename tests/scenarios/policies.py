"""The policies of scenarios: the shipped ones, or for a scenario that says so its own, in a pool of its own.

`Starting rating` is what brings players to a level without hundreds of games before the one that matters: who first
plays then starts there. Each level is a version of the policy with nothing but the start changed.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import UTC
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.scenarios.events import clock_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tests.scenarios.reading import Scenario, Setting
    from tests.scenarios.values import Clock

SHIPPED = files("worker.policies")
POOLS = "pools.toml"
OWN = Path(__file__).parent / "policies"
OWN_SETTINGS = ("Policy", "Starting rating", "Without", "With")
MOVED_START = "new players start elsewhere"  # the reason of a version that nobody but this module asks for
GIVEN_ANEW = ("name", "version", "valid_from", "reason")

_LATER = re.compile(r"from (.+) (\d+)")


class Version(NamedTuple):
    """One version as its file has it."""

    name: str
    number: int
    valid_from: datetime | None
    reason: str
    text: str


@dataclass
class Policies:
    """What the worker is told: policy files and a pools file; and what a made-up name stands for.

    Attributes:
        made: The name and version that a scenario knows, by those that the worker knows.
    """

    folder: Path
    pools: dict[str, str] = field(default_factory=dict)
    made: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)

    def add(self, scenario: Scenario) -> None:
        """Write a scenario's own policy, if it has one.

        Raises:
            ScenarioError: A setting that can't be read.
        """
        versions = own_versions(scenario)
        if not versions:
            return
        name = f"{versions[0].name}-{scenario.prefix}"
        self.pools[f"{scenario.prefix}/*"] = name
        for number, version in enumerate(versions, start=1):
            self.made[name, number] = (version.name, version.number)
            head = f'name = "{name}"\nversion = {number}\n'
            if version.valid_from is not None:
                head += f'valid_from = {version.valid_from.isoformat()}\nreason = "{version.reason}"\n'
            (self.folder / f"{name}-{number}.toml").write_text(head + version.text, "utf-8")

    def write_pools(self) -> Path:
        """Write the pools file: those of scenarios and then those that ship."""
        shipped = (SHIPPED / POOLS).read_text("utf-8")
        own = "".join(f'"{pattern}" = "{name}"\n' for pattern, name in self.pools.items())
        file = self.folder / POOLS
        file.write_text(shipped.replace("[pools]\n", f"[pools]\n{own}"), "utf-8")
        return file

    def files(self) -> tuple[Path, ...]:
        """Give the policy files."""
        return tuple(sorted(self.folder.glob("*-*.toml")))


def own_versions(scenario: Scenario) -> list[Version]:
    """Give the versions of a scenario's own policy, none if it has none and plays by those that ship.

    Raises:
        ScenarioError: A setting that can't be read.
    """
    setting = next((scenario.settings[name] for name in OWN_SETTINGS if name in scenario.settings), None)
    if setting is None:
        return []
    try:
        return list(_versions(scenario))
    except ValueError as error:
        raise scenario.error(setting.line, str(error)) from None


def _versions(scenario: Scenario) -> Iterator[Version]:
    """Give the versions of a scenario's own policy: those of the policy that it names, cut where the start moves.

    Raises:
        ValueError: A setting that can't be read, or a policy that isn't there.
    """
    base = _base(scenario)
    without = (scenario.setting("Without") or "").split(", ")
    starts = _starts(scenario.settings.get("Starting rating"), clock_of(scenario))
    moments = {version.valid_from for version in base} | {since for since, _ in starts}
    for since in sorted(moments, key=_order):
        version = next(one for one in reversed(base) if _order(one.valid_from) <= _order(since))
        start = next((rating for at, rating in reversed(starts) if _order(at) <= _order(since)), None)
        keys = (*without, *GIVEN_ANEW, *(() if start is None else ("start",)))
        text = _without(version.text, keys)
        given = [scenario.setting("With"), None if start is None else f"start = {start}"]
        text = "".join(f"{line}\n" for line in given if line) + text
        yield version._replace(valid_from=since, text=text, reason=_reason(version, since))


def _reason(version: Version, since: datetime | None) -> str:
    return version.reason if version.valid_from == since else MOVED_START


def _base(scenario: Scenario) -> list[Version]:
    """Read the policy that a scenario names, or the shipped one of its pool, in all its versions."""
    named = scenario.setting("Policy") or _policy_of(scenario.setting("Pool") or "")
    own = [*OWN.glob(f"{named}.toml"), *OWN.glob(f"{named}-[0-9].toml")]
    shipped = [file for file in SHIPPED.iterdir() if file.name.endswith(".toml") and file.name != POOLS]
    texts = [file.read_text("utf-8") for file in own or shipped]
    versions = [version for version in map(_version, texts) if version.name == named]
    if not versions:
        raise ValueError(f"no policy {named!r}: it is neither one that ships nor a file in tests/scenarios/policies/")
    return sorted(versions, key=lambda version: version.number)


def _policy_of(pool: str) -> str:
    pools: dict[str, str] = tomllib.loads((SHIPPED / POOLS).read_text("utf-8"))["pools"]
    return next((name for pattern, name in pools.items() if fnmatchcase(pool, pattern)), "")


@cache
def _version(text: str) -> Version:
    content = tomllib.loads(text)
    return Version(content["name"], content["version"], content.get("valid_from"), content.get("reason", ""), text)


def _starts(setting: Setting | None, clock: Clock) -> list[tuple[datetime | None, int]]:
    """Read `1600; from day 10 1725`."""
    if setting is None:
        return []
    first, *later = setting.text.split("; ")
    starts: list[tuple[datetime | None, int]] = [(None, int(first))]
    for part in later:
        found = _LATER.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} is no later start; it is written 'from day 10 1725'")
        starts.append((clock.read(found[1]).astimezone(UTC), int(found[2])))
    return starts


def _order(since: datetime | None) -> float:
    return float("-inf") if since is None else since.timestamp()


def _without(text: str, keys: tuple[str, ...]) -> str:
    """Take top-level keys of one line, and whole tables, out of a policy's text."""
    head, *tables = re.split(r"(?m)^(?=\[)", text)
    head = "".join(line for line in head.splitlines(keepends=True) if line.split(" = ")[0] not in keys)
    return head + "".join(table for table in tables if table.split("]")[0].strip("[") not in keys)
