"""Match events as lines, and policy files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def line(number: int, one: str, other: str, score: float = 1, **fields: Any) -> str:
    """Give a match of two players as a JSON line; a minute lies between numbers."""
    event = {
        "match_id": f"m{number}",
        "pool": "yi",
        "finished_at": f"2026-03-01T{number // 60:02d}:{number % 60:02d}:00Z",
        "players": [{"id": one, "score": score}, {"id": other, "score": 1 - score}],
    }
    return json.dumps(event | fields)


def lines(*games: tuple[str, str, float], **fields: Any) -> str:
    """Give matches as JSON lines, in order."""
    return text(line(number, *game, **fields) for number, game in enumerate(games))


def text(parts: Iterable[str]) -> str:
    """Join lines."""
    return "".join(f"{part}\n" for part in parts)


def policy_file(folder: Path, k_rules: Iterable[str], *, start: int = 1500, rest: str = "", ladder: str = "") -> Path:
    """Write a policy of a few K rules, each a line of TOML without its name; Elo's curve unless `rest` has a method."""
    method = "" if "[expected]" in rest else '[expected]\nmethod = "logistic"\nscale = 400\n'
    rules = "".join(f'[[k_factor]]\nname = "rule-{place}"\n{rule}\n' for place, rule in enumerate(k_rules))
    ladder = ladder or '[[ladder]]\ntitle = "anyone"\n'
    path = folder / "policy.toml"
    path.write_text(
        f'name = "small"\nversion = 1\nstart = {start}\nprovisional_games = 0\n{method}{rest}\n{rules}{ladder}',
        encoding="utf-8",
    )
    return path
