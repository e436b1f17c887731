"""Every version of every policy that is known: from the files of this worker, and from the ledger where it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import as_file, files
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from worker.cli.running import policies_of
from worker.ledger.reads import policy_of
from worker.policies import load_policy_file
from worker.policies.load import POOLS_FILE
from worker.rating.policy_set import Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from worker.ledger.reads import RegisteredPolicy
    from worker.rating.policy import Policy
    from worker.rating.policy_set import PolicySet, Span
    from worker.settings import Settings

_NO_RULES = {"name", "version", "valid_from", "reason"}  # what a version is called, and since when and why it is


class State(StrEnum):
    """What a version is now, to a worker with these files."""

    IN_FORCE = "in force"
    OVER = "over"
    TO_COME = "to come"
    NO_FILE = "no file"


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A version as a file has it: where that is, and its text with the comments."""

    policy: Policy
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """A version of a policy with all that is known of it.

    Attributes:
        digest: Of the file's content; of the ledger's where there is no file.
        policy: The file's content, or the ledger's; None where a newer release registered what this one can't read.
        file: None where only the ledger has the version.
        registered: None where the ledger does not know the version, or was not asked.
        until: When the next version takes over, None for never.
        pools: The patterns of the pools that the policy rates.
    """

    name: str
    version: int
    digest: str
    policy: Policy | None
    file: PolicyFile | None
    registered: RegisteredPolicy | None
    state: State
    until: datetime | None
    pools: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether the file has other content than the ledger, under the same number."""
        return self.file is not None and self.registered is not None and self.digest != self.registered.ref.digest

    @property
    def rules(self) -> dict[str, Any]:
        """The rules as data, with every default spelt out."""
        return rules_of(self.policy) if self.policy is not None else self.registered_rules

    @property
    def registered_rules(self) -> dict[str, Any]:
        """The rules as the ledger has them; without defaults where this release can't read them."""
        if self.registered is None:
            return {}
        policy = policy_of(self.registered.body)
        if policy is not None:
            return rules_of(policy)
        return {key: value for key, value in self.registered.body.items() if key not in _NO_RULES}

    @property
    def valid_from(self) -> datetime | str | None:
        """From when it holds, as it says itself; None for a first version without a date."""
        return self.policy.valid_from if self.policy is not None else self._said("valid_from")

    @property
    def reason(self) -> str:
        """Why it came to be; empty for a first version that does not say."""
        return self.policy.reason if self.policy is not None else self._said("reason") or ""

    def _said(self, key: str) -> str | None:
        said = None if self.registered is None else self.registered.body.get(key)
        return None if said is None else str(said)


def known_versions(settings: Settings, registered: Sequence[RegisteredPolicy], now: datetime) -> list[KnownVersion]:
    """Give every known version, by name and version.

    Args:
        settings: Name the files.
        registered: Those that the ledger knows; empty where it was not asked.
        now: Decides what is in force.

    Raises:
        PolicyError: With every fault of the files.
    """
    policies = policies_of(settings)
    spans = dict(_spans(policies))
    in_files = {(one.policy.name, one.policy.version): one for one in _policy_files(settings)}
    in_ledger = {(one.ref.name, one.ref.version): one for one in registered}
    known = []
    for key in sorted(in_files.keys() | in_ledger.keys()):
        file, entry, span = in_files.get(key), in_ledger.get(key), spans.get(key)
        policy = file.policy if file is not None else policy_of(entry.body) if entry is not None else None
        known.append(
            KnownVersion(
                *key,
                digest=file.policy.digest if file is not None else entry.ref.digest if entry is not None else "",
                policy=policy,
                file=file,
                registered=entry,
                state=_state(span, now),
                until=None if span is None else span.until,
                pools=tuple(pattern for pattern, name in policies.pools.items() if name == key[0]),
            )
        )
    return known


def rules_of(policy: Policy) -> dict[str, Any]:
    """Give a version's rules as data, with every default spelt out."""
    return policy.model_dump(mode="json", exclude=_NO_RULES)


def _spans(policies: PolicySet) -> Iterator[tuple[tuple[str, int], Span]]:
    for _, versions in groupby(policies.policies, attrgetter("name")):
        for span in Versions(tuple(versions)).spans:
            yield (span.policy.name, span.policy.version), span


def _state(span: Span | None, now: datetime) -> State:
    if span is None:
        return State.NO_FILE
    if span.until is not None and span.until <= now:
        return State.OVER
    return State.TO_COME if span.since is not None and now < span.since else State.IN_FORCE


def _policy_files(settings: Settings) -> Iterator[PolicyFile]:
    """Read the files again, each alone: those that ship with the worker, then the operator's."""
    for shipped in files("worker.policies").iterdir():
        if shipped.name.endswith(".toml") and shipped.name != POOLS_FILE:
            with as_file(shipped) as path:
                yield PolicyFile(load_policy_file(path), f"built-in {shipped.name}", path.read_text("utf-8"))
    for path in settings.policy_files:
        yield PolicyFile(load_policy_file(path), str(path), path.read_text("utf-8"))
