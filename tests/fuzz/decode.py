"""`python -m tests.fuzz.decode [-max_total_time=600 …]`: whatever bytes come, decoding gives an event or says why not.

It wants atheris, which is not among the locked packages as there is none of it for every Python: `pip install atheris`.
Its corpus starts with the schemas' examples. The property is that of `tests/unit/events/test_reject.py`, sought
another way: any exception but BadEventError is a bug, and a refusal's sentence must be text that a header can carry.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]

with atheris.instrument_imports(include=["worker.events"]):
    from worker.events import INCOMING, BadEventError, decode

_NOW = datetime(2026, 11, 30, tzinfo=UTC)
_EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples"
_TYPES = [None, *(ce_type.encode() for ce_type in INCOMING), b"application/cloudevents+json"]


def decode_one(data: bytes) -> None:
    """Take the first byte for the type in the headers, the rest for the value."""
    which, value = (data[0] if data else 0), data[1:]
    given = _TYPES[which % len(_TYPES)]
    headers = []
    if given is not None:
        headers.append(("content-type" if b"/" in given else "ce_type", given))
    try:
        decoded = decode(value, headers, now=_NOW, max_bytes=65_536, default_type=INCOMING[0])
    except BadEventError as bad:
        bad.detail.encode()
    else:
        again = decode(value, headers, now=_NOW, max_bytes=65_536, default_type=INCOMING[0])
        assert again == decoded


def main() -> None:
    """Fuzz until told otherwise; arguments go to libFuzzer."""
    corpus = Path(tempfile.mkdtemp(prefix="fuzz-decode-"))
    for number, example in enumerate(sorted(_EXAMPLES.glob("*/valid/*.json"))):
        for which in range(len(_TYPES)):
            (corpus / f"{number}-{which}").write_bytes(bytes([which]) + example.read_bytes())
    atheris.Setup([*sys.argv, str(corpus)], decode_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
