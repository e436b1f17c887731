"""What commands share while they run: the event loop, the policies, a connection to Postgres."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from worker.policies import load_policies

if sys.platform == "win32":  # uvloop is not made for it; the worker is the same without, only slower
    run_loop = asyncio.run
else:
    from uvloop import run as run_loop

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

_T = TypeVar("_T")


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end on uvloop where there is one."""
    return run_loop(main)


def policies_of(settings: Settings) -> PolicySet:
    """Read the policies that the settings name.

    Raises:
        PolicyError: With every fault.
    """
    return load_policies(settings.pools_file, settings.policy_files)
