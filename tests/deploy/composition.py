"""The compose file as its tests read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "compose"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("rating-worker:")}


def environment(service: str) -> dict[str, str]:
    """What a service finds in its environment."""
    return {name: str(value) for name, value in SERVICES[service].get("environment", {}).items()}


def mounts(service: str) -> dict[str, str]:
    """The files and folders of this repository that a service sees: path there to path here."""
    parts = (volume.split(":") for volume in SERVICES[service].get("volumes", ()))
    return {part[1]: part[0] for part in parts if part[0].startswith(".")}
