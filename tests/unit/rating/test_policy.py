"""A policy as a whole. What a policy file may say is tested with the files, in tests/unit/policies."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest
from pydantic import ValidationError

from tests.unit.rating.examples import BICIID, FIDE, NOON, YIBOARD, policy
from worker.rating import PlayerState, Policy, PolicyRef

PLAIN_DIGEST = "4033227ace1fe01b0923f49397c3b9bf"


@pytest.mark.parametrize(("system", "start"), [(YIBOARD, 1200.0), (BICIID, 1000.0), (FIDE, 1500.0)])
def test_start(system: Policy, start: float) -> None:
    """A player starts at the policy's start, with nothing played."""
    state = system.start_state()
    assert state == PlayerState(rating=start, version=0, games=0, wins=0, draws=0, losses=0, peak=start)
    assert isinstance(state.rating, float)


def test_the_digest_never_changes() -> None:
    """The digest of given content is for ever: the ledger keeps it."""
    assert policy().digest == PLAIN_DIGEST


def test_the_digest_is_of_content() -> None:
    """Defaults that are spelt out, and 32 for 32.0, leave the digest alone."""
    assert policy(require_verified=False, draws="half", match_types={}).digest == PLAIN_DIGEST
    assert policy(k_factor=[{"name": "all", "k": 32.0, "pools": None}]).digest == PLAIN_DIGEST


def test_the_digest_is_of_the_instant() -> None:
    """The same instant in another zone is the same content, and is kept in UTC."""
    elsewhere = policy(valid_from=NOON.astimezone(timezone(timedelta(hours=5))))
    assert elsewhere.digest == policy(valid_from=NOON).digest
    assert str(elsewhere.valid_from) == "2026-03-01 12:00:00+00:00"


@pytest.mark.parametrize(
    "edit",
    [
        {"notes": ["a note"]},
        {"start": 1501},
        {"reason": "none"},
        {"valid_from": NOON},
        {"match_types": {"casual": 0}},
        {"k_factor": [{"name": "all", "k": 32.000000000000004}]},
        {"ladder": [{"title": "all"}]},
        {"expected": {"method": "logistic", "scale": 400, "gap_cap": 400}},
    ],
)
def test_a_silent_edit_shows(edit: dict[str, object]) -> None:
    """Any other number or text is another digest."""
    assert policy(**edit).digest != PLAIN_DIGEST


def test_ref() -> None:
    """The reference names policy, version and digest."""
    assert policy().ref == PolicyRef("plain", 1, PLAIN_DIGEST)


def test_frozen() -> None:
    """A policy does not change once it is read."""
    with pytest.raises(ValidationError, match="frozen"):
        policy().start = 1  # type: ignore[misc]
