"""Tracing with OpenTelemetry: off unless RATING_TRACING_URL names a collector; its packages are an extra."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.ops.spans import Spans
    from worker.settings import Settings

_PACKAGE = "opentelemetry.exporter"
_INSTALL = "pip install 'rating-worker[tracing]', or from a checkout --require-hashes -r deploy/lock/tracing.txt"


class TracingSetupError(Exception):
    """Tracing is asked for and can't be: what is missing and what to do."""


def spans_of(settings: Settings) -> Spans | None:
    """Give what makes the spans that the settings ask for; None where they ask for none.

    Raises:
        TracingSetupError: The packages of the extra are not installed.
    """
    if settings.tracing_url is None:
        return None
    if find_spec("opentelemetry") is None or find_spec(_PACKAGE) is None:
        raise TracingSetupError(f"RATING_TRACING_URL is set and OpenTelemetry is not installed: {_INSTALL}")
    from worker.ops.spans import Spans  # noqa: PLC0415 - most workers never need it, and may not have it

    return Spans(settings)
