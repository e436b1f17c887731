"""The base of every part of a policy: data that is checked once, when it is read, and never changes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
"""What policies, K rules and match types are called."""

Text = Annotated[str, Field(min_length=1)]
"""Words for people."""


class Rule(BaseModel):
    """A frozen part of a policy. Unknown keys, text for numbers, NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
