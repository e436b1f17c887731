"""How long a token of an endpoint is used, whatever way the endpoint says it."""

from __future__ import annotations

from typing import Any

import pytest

from worker.stream.tokens import _seconds


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        ({"expires_in": 300}, 300.0),
        ({"expires_in": 0.5}, 0.5),
        ({"expires_in": "3600"}, 3600.0),
        ({"expires_in": "soon"}, 0.0),
        ({"expires_in": ""}, 0.0),
        ({"expires_in": -1}, 0.0),
        ({"expires_in": "nan"}, 0.0),
        ({"expires_in": "inf"}, 0.0),
        ({"expires_in": [300]}, 0.0),
        ({"expires_in": None}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_life_of_a_token(answer: dict[str, Any], seconds: float) -> None:
    """Numbers count, also as text; anything else means that the token is used once."""
    assert _seconds(answer) == seconds
