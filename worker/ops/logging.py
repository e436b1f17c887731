"""Structured logs: JSON lines in production, readable lines on a terminal; the libraries' logs take the same way.

Log with `structlog.get_logger(...)` and its plain methods: the `a...` ones hop to a thread for each call, which costs
twenty times as much. At info, log per batch and not per match: a blocked pipe blocks the loop.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson
import structlog
from structlog.tracebacks import ExceptionDictTransformer

from worker.ops.recent import GRAVE, RECENT
from worker.settings import LogFormat, LogLevel

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from structlog.typing import EventDict, Processor, WrappedLogger

_FIRST = ("timestamp", "level", "event")
_REDACTED = b"***"
_SECRET_KEY = re.compile(r"passw|secret|token|credential|database_url|dsn", re.IGNORECASE)
# Passwords in URLs and key=value strings, wherever in a line: in a message, a traceback, a library's own text. The
# greedy match runs to the last @ of a word: rather too much hidden than half a password shown.
_SECRET_TEXT = re.compile(rb"""(://[^\s"/@:]*:)[^\s"]*(?=@)|(passw(?:or)?d=)[^\s"'&,;)]+""", re.IGNORECASE)


class _Sink:
    """The stream that lines go to. A full disk or a closed pipe loses lines, never a batch."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, line: bytes) -> None:
        with suppress(OSError, ValueError):  # ValueError: the stream is closed
            self._stream.write(line)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


class _LibraryHandler(logging.Handler):
    """Takes records of the standard library's logging through the worker's own processors."""

    def __init__(self, processors: list[Processor], sink: structlog.BytesLogger) -> None:
        super().__init__()
        self._processors = processors
        self._sink = sink

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event: Any = {"event": _message(record), "logger": record.name, "level": record.levelname.lower()}
            if record.exc_info:
                event["exc_info"] = record.exc_info
            for processor in self._processors:
                event = processor(self._sink, event["level"] if isinstance(event, dict) else "", event)
            self._sink.msg(event)
        except Exception:  # noqa: BLE001 - logging's own rule: a record that can't be written must not stop the program
            self.handleError(record)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):  # a library's format string and its arguments don't match
        return f"{record.msg} {record.args}"


def configure_logging(
    log_format: LogFormat = LogFormat.AUTO,
    level: LogLevel = LogLevel.INFO,
    stream: BinaryIO | None = None,
    *,
    library_level: LogLevel = LogLevel.WARNING,
    cache: bool = True,
) -> None:
    """Set up structlog and the standard library's logging, both to one stream. Call it before the first log line.

    Args:
        log_format: JSON, console, or console exactly when the stream is a terminal.
        level: Least severe level of the worker's own lines.
        stream: Where lines go, standard error if None: standard output is for what commands print.
        library_level: Least severe level of the libraries' lines (aiokafka, asyncpg, alembic).
        cache: Let loggers keep their configuration, which is faster; tests that configure again turn it off.
    """
    out = sys.stderr.buffer if stream is None else stream
    terminal = out.isatty()
    as_json = log_format is LogFormat.JSON or (log_format is LogFormat.AUTO and not terminal)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _hide_secret_keys,
        _remember,
        *(_json_renderer() if as_json else _console_renderer(colors=terminal and not os.environ.get("NO_COLOR"))),
        _hide_secret_text,
    ]
    sink: Any = _Sink(out)
    structlog.configure(
        processors=[structlog.processors.add_log_level, *shared],
        wrapper_class=structlog.make_filtering_bound_logger(level.value),
        logger_factory=structlog.BytesLoggerFactory(sink),
        cache_logger_on_first_use=cache,
    )
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, _LibraryHandler)]:
        root.removeHandler(old)
    root.addHandler(_LibraryHandler(shared, structlog.BytesLogger(sink)))
    root.setLevel(library_level.value.upper())


def _remember(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Keep what went wrong for the worker's page: plain text, without secrets and without tracebacks."""
    if event.get("level") in GRAVE:
        line = {str(name): value for name, value in event.items() if name not in {"exc_info", "stack_info"}}
        error = event.get("exc_info")
        error = sys.exc_info()[1] if error is True else error[1] if isinstance(error, tuple) else error
        if isinstance(error, BaseException):
            line["exception"] = error
        RECENT.add({name: _shown(value) for name, value in line.items()})
    return event


def _shown(value: object) -> str:
    text = value.encode(errors="backslashreplace") if isinstance(value, str) else _repr(value).encode()
    return _hide_secret_text(None, "", text).decode()


def _json_renderer() -> list[Processor]:
    # No locals in tracebacks: they hold events, URLs and whatever else was at hand.
    frames = ExceptionDictTransformer(show_locals=False, max_frames=20)
    return [
        structlog.processors.StackInfoRenderer(),
        structlog.processors.ExceptionRenderer(frames),
        lambda _logger, _method, event: _dumps(event),
    ]


def _console_renderer(*, colors: bool) -> list[Processor]:
    render = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    return [
        structlog.processors.StackInfoRenderer(),
        lambda logger, method, event: render(logger, method, event).encode(errors="backslashreplace"),
    ]


def _dumps(event: MutableMapping[str, Any]) -> bytes:
    event = {**{key: event[key] for key in _FIRST if key in event}, **event}  # what people look for first
    try:
        return orjson.dumps(event, default=_repr, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # orjson refuses lone surrogates and integers beyond 64 bits; a log line must not
        return orjson.dumps(_plain(event))


def _repr(value: object) -> str:
    return repr(value).encode(errors="backslashreplace").decode()


def _plain(value: object) -> object:
    match value:
        case dict():
            return {str(_plain(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case str():
            return value.encode(errors="backslashreplace").decode()
        case None | bool() | float():
            return value
        case _:
            return _repr(value)


def _hide_secret_keys(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return _hidden(event)


@lru_cache(maxsize=1_000)
def _tells_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def _hidden(values: MutableMapping[Any, Any]) -> dict[Any, Any]:
    return {
        key: _REDACTED.decode()
        if isinstance(key, str) and _tells_secret(key)
        else _hidden(value)
        if isinstance(value, dict)
        else value
        for key, value in values.items()
    }


def _hide_secret_text(_logger: WrappedLogger, _method: str, line: Any) -> bytes:
    if b"@" not in line and b"=" not in line:  # nearly every line, and ten times as fast
        return bytes(line)
    return _SECRET_TEXT.sub(lambda match: (match[1] or match[2]) + _REDACTED, line)
