"""The base of every part of a policy: data that is checked once, when it is read, and never changes."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _check_name(value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,63}", value):
        raise ValueError("should be at most 64 lower-case letters, digits and hyphens, a letter first")
    return value


Name = Annotated[str, AfterValidator(_check_name)]
"""What policies and K rules are called."""

Text = Annotated[str, Field(min_length=1)]
"""Words for people."""


class Rule(BaseModel):
    """A frozen part of a policy. Unknown keys, text for numbers, NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
