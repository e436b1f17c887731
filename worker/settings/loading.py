"""The settings, read from where they are and checked against each other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import ValidationError, model_validator
from pydantic_settings import InitSettingsSource

from worker.settings import text
from worker.settings.fields import Fields
from worker.settings.rules import broken_rules

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings
    from pydantic_settings import PydanticBaseSettingsSource as Source

SECRETS_DIR = "RATING_SECRETS_DIR"


class SettingsError(Exception):
    """Unusable settings; the message names each variable at fault, its value (never a secret) and what is allowed."""


class Settings(Fields):
    """All that an operator can set. Frozen; every field is checked alone, then all against each other (`rules`).

    Raises:
        pydantic.ValidationError: When built directly from values that don't hold; `load_settings` makes it readable.
    """

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if faults := list(broken_rules(self)):
            raise ValueError("\n".join(faults))
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: Source,
        env_settings: Source,
        dotenv_settings: Source,  # noqa: ARG003 - no .env: what runs is what the environment says
        file_secret_settings: Source,
    ) -> tuple[Source, ...]:
        """Put the `*_FILE` variables between the environment and the folder of secrets."""
        files = InitSettingsSource(settings_cls, init_kwargs=_secrets_from_files())
        return init_settings, env_settings, files, file_secret_settings


def load_settings(**overrides: object) -> Settings:
    """Read the settings from the environment.

    Args:
        overrides: Values by field name that win over the environment, e.g. from command-line options.

    Raises:
        SettingsError: With a line for each fault: a value that is not allowed, timeouts that don't fit together, a
            secret file that can't be read, or a variable that looks like a misspelt setting.
    """
    faults = [f"{one.name} is no setting; did you mean {one.nearest}?" for one in _unknown() if one.misspelt]
    folder = os.environ.get(SECRETS_DIR) or None
    if folder and not Path(folder).is_dir():
        faults.append(f"{SECRETS_DIR}={folder}: allowed is a folder that exists")
        folder = None
    try:
        settings = Settings(_secrets_dir=folder, **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        faults += text.explain(error, Settings)
    except SettingsError as error:
        faults.append(str(error))
    if faults:
        raise SettingsError("The settings can't be used:\n" + "\n".join(f"  - {fault}" for fault in faults)) from None
    return settings


def unknown_variables() -> dict[str, str | None]:
    """Give the variables, and the files among the secrets, that are no setting: by name the setting most like it.

    They may be meant for another version, so they stop nothing; those that can only be a slip do, in `load_settings`.
    """
    return {one.name: one.nearest for one in _unknown() if not one.misspelt}


def settings_table() -> str:
    """Render every setting as a Markdown table: variable, default, what is allowed, meaning."""
    return text.table(Settings)


def _unknown() -> list[text.Unknown]:
    found = dict(os.environ)
    folder = os.environ.get(SECRETS_DIR)
    if folder and Path(folder).is_dir():
        found |= {file.name: "" for file in Path(folder).iterdir()}
    return list(text.unknown(found, Settings))


def _secrets_from_files() -> dict[str, str]:
    found = {}
    for field in text.secret_fields(Settings):
        name = text.variable(field)
        file = os.environ.get(f"{name}_FILE")
        if not file:
            continue
        if os.environ.get(name):
            raise SettingsError(f"{name} and {name}_FILE are both set: allowed is one of them")
        try:
            found[field] = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise SettingsError(f"{name}_FILE={file}: can't be read: {why}") from None
    return found
