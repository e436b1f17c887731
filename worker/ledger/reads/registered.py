"""The policy versions that the ledger knows, whole: also those whose file is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from worker.ledger import sql
from worker.rating.model import PolicyRef
from worker.rating.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from worker.ledger.reads.players import Connection

_SQL = sql.load("reviews.sql")


@dataclass(frozen=True, slots=True)
class RegisteredPolicy:
    """A policy version as a worker registered it when it started.

    Attributes:
        ref: What it is called.
        body: Its content, as data; a newer release may have written what this one does not know.
        registered_at: When it was first registered.
    """

    ref: PolicyRef
    body: Mapping[str, Any]
    registered_at: datetime


def policy_of(body: Any) -> Policy | None:
    """Read a version as the ledger has it; None where a newer release wrote what this one does not know."""
    try:
        return Policy.model_validate_json(orjson.dumps(body))
    except ValidationError:
        return None


async def registered_policies(connection: Connection) -> list[RegisteredPolicy]:
    """Give every policy version that the ledger knows, by name and version. They are few."""
    return [
        RegisteredPolicy(PolicyRef(row["name"], row["version"], row["digest"]), row["body"], row["registered_at"])
        for row in await connection.fetch(_SQL["registered_policies"])
    ]
