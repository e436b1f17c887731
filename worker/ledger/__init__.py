"""Postgres through asyncpg."""

from worker.ledger.array_arguments import ask_only_for_lists

ask_only_for_lists()
