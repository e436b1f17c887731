"""How the page's answers go out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

if TYPE_CHECKING:
    from worker.ops.page.assets import Asset
    from worker.ops.page.questions import Answer

_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
_STATUS = {"found": 200, "wrong": 400, "unknown": 404, "away": 503, "busy": 503}
_RETRY_AFTER = {"away": "5", "busy": "2"}
_BUSY = "Too many requests at once: the matches come first. Ask again in a moment."
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every answer: nothing from elsewhere runs or is framed, nothing is sent elsewhere, no text becomes markup."""


def as_json(document: Any, status: int = 200) -> web.Response:
    """Give a document."""
    return of_json(to_json(document), status)


def to_json(document: Any) -> bytes:
    """Encode a document as JSON."""
    return orjson.dumps(document, option=_OPTIONS)


def in_words(words: str, status: int) -> web.Response:
    """Say what is wrong."""
    return as_json({"error": words}, status)


def busy() -> web.Response:
    """Say that there are too many."""
    response = in_words(_BUSY, 503)
    response.headers["Retry-After"] = _RETRY_AFTER["busy"]
    return response


def of_answer(answer: Answer) -> web.Response:
    """Give what the ledger answered."""
    response = of_json(answer.body, _STATUS[answer.found])
    if answer.found in _RETRY_AFTER:
        response.headers["Retry-After"] = _RETRY_AFTER[answer.found]
    return response


def of_asset(asset: Asset, *, for_ever: bool) -> web.Response:
    """Give a file; one whose address goes with its content is never asked for again."""
    headers = {"Cache-Control": "max-age=31536000, immutable" if for_ever else "no-store"}
    return web.Response(body=asset.body, content_type=asset.content_type, charset="utf-8", headers=headers)


def of_json(body: bytes, status: int = 200) -> web.Response:
    """Give a document that is JSON already."""
    return web.Response(body=body, status=status, content_type="application/json")
