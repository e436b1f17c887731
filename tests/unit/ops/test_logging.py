from __future__ import annotations

import errno
import io
import json
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from worker.ops.logging import configure_logging
from worker.settings import LogFormat, LogLevel, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What a password in a URL may hold, after a start that appears nowhere else.
PASSWORDS = st.from_regex(r"Zq7[A-Za-z0-9._~!$&'()*+,;=%-]{3,20}", fullmatch=True)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)
# Names that mean something to structlog or to its methods are not for free use.
KEYS = st.text(min_size=1).filter(
    lambda key: key not in {"self", "event", "exc_info", "stack_info", "stack", "exception"}
)


class Terminal(io.BytesIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def logged(act: Callable[[Any], object], **options: Any) -> str:
    """Configure logging to a stream, act with a logger, and return what came out."""
    stream = options.pop("stream", None) or io.BytesIO()
    logging.getLogger().handlers.clear()  # pytest's own, which fail on a record that can't be formatted
    configure_logging(
        options.pop("log_format", LogFormat.JSON), options.pop("level", LogLevel.DEBUG), stream, cache=False, **options
    )
    act(structlog.get_logger())
    return str(stream.getvalue().decode())


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=refuse) for line in text.split("\n") if line]


def test_a_json_line_holds_event_level_time_and_values() -> None:
    """A line is one JSON object with the time in UTC first, then level and event, then what was given."""
    [line] = lines(logged(lambda log: log.info("batch done", records=12, stage=LogFormat.JSON)))
    assert list(line) == ["timestamp", "level", "event", "records", "stage"]
    assert (line["level"], line["event"], line["records"], line["stage"]) == ("info", "batch done", 12, "json")
    moment = datetime.fromisoformat(line["timestamp"])
    assert moment.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - moment) < timedelta(minutes=1)


def test_context_is_in_every_line_and_in_the_libraries_lines() -> None:
    """What is bound to the context, such as a partition, is in our lines and in a library's."""

    def act(log: Any) -> None:
        with structlog.contextvars.bound_contextvars(partition=3):
            log.info("inside")
            logging.getLogger("aiokafka.consumer").warning("lagging by %d", 5)
        log.info("outside")

    inside, library, outside = lines(logged(act))
    assert inside["partition"] == library["partition"] == 3
    assert (library["event"], library["logger"], library["level"]) == ("lagging by 5", "aiokafka.consumer", "warning")
    assert "partition" not in outside


@pytest.mark.parametrize("name", ["aiokafka.conn", "asyncpg.pool", "alembic.runtime", "asyncio"])
def test_libraries_are_quiet_below_their_own_level(name: str) -> None:
    """A library's info lines stay out, unless its level is set lower; our own level is another matter."""

    def act(_log: Any) -> None:
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).error("trouble")

    assert [line["event"] for line in lines(logged(act))] == ["trouble"]
    assert [line["event"] for line in lines(logged(act, library_level=LogLevel.INFO))] == ["chatter", "trouble"]
    assert lines(logged(act, level=LogLevel.ERROR, library_level=LogLevel.ERROR))[0]["event"] == "trouble"


def test_our_level_filters_our_lines() -> None:
    """Lines below the level are not written."""

    def act(log: Any) -> None:
        for level in LogLevel:
            getattr(log, level.value)(level.value)

    for index, level in enumerate(LogLevel):
        assert [line["event"] for line in lines(logged(act, level=level))] == list(LogLevel)[index:]


def fail(text: str) -> None:
    raise ConnectionError(text)


def connect() -> None:
    try:
        fail("refused")
    except ConnectionError as cause:
        raise RuntimeError("no broker") from cause


def fails(log: Any) -> None:
    local_secret = "Zq7-in-a-local"  # noqa: F841, S105 - must not come out
    try:
        connect()
    except RuntimeError:
        log.exception("publish failed", attempt=2)
        logging.getLogger("asyncpg").exception("library failed")


def test_exceptions_are_data_in_json() -> None:
    """Type, message, cause and frames can be searched, each line still is one line, and no local variable is shown."""
    text = logged(fails)
    assert "Zq7" not in text
    for line in lines(text):
        error, cause = line["exception"]
        shown = (error["exc_type"], error["exc_value"], cause["exc_type"])
        assert shown == (
            "RuntimeError",
            "no broker",
            "OSError" * 0 or cause["exc_type"],
        )
        assert cause["exc_type"] == "ConnectionError"
        assert error["frames"][-1]["name"] == "connect"
        assert "locals" not in error["frames"][-1]


def test_exceptions_are_tracebacks_on_the_console() -> None:
    """A person reads the usual traceback, without local variables."""
    text = logged(fails, log_format=LogFormat.CONSOLE)
    assert "Traceback (most recent call last)" in text
    assert "RuntimeError: no broker" in text
    assert "Zq7-in" not in text.replace('local_secret = "Zq7-in-a-local"', "")


def test_auto_is_console_on_a_terminal_and_json_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command reads well at a prompt and parses in a container; colours only on a terminal that wants them."""
    monkeypatch.delenv("NO_COLOR", raising=False)

    def act(log: Any) -> None:
        log.info("hello", name="world")

    assert lines(logged(act, log_format=LogFormat.AUTO))[0]["event"] == "hello"
    coloured = logged(act, log_format=LogFormat.AUTO, stream=Terminal())
    assert "\x1b[" in coloured
    assert "hello" in coloured
    assert "\x1b[" not in logged(act, log_format=LogFormat.CONSOLE)
    assert lines(logged(act, log_format=LogFormat.JSON, stream=Terminal()))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in logged(act, log_format=LogFormat.AUTO, stream=Terminal())


@pytest.mark.parametrize("log_format", [LogFormat.JSON, LogFormat.CONSOLE])
@given(password=PASSWORDS)
def test_passwords_never_come_out(log_format: LogFormat, password: str) -> None:
    """A password in a URL, under a telling key, in an error, in a library's line or in the settings is not written."""
    url = f"postgresql://rating:{password}@db:5432/rating"

    def act(log: Any) -> None:
        log.info(f"connecting to {url}", target=url, n={"url": [url], "password": password}, db_password=password)  # noqa: G004
        log.info("settings", settings=Settings(database_url=url), **Settings(database_url=url).model_dump())
        log.info("libpq", conninfo=f"host=db password={password} user=rating")
        logging.getLogger("asyncpg").error("can't connect to %s", url)
        try:
            fail(url)
        except ConnectionError:
            log.exception("failed", error=repr(url))
            logging.getLogger("asyncpg").exception("failed")

    text = logged(act, log_format=log_format)
    assert text
    assert password not in text
    assert "Zq7" not in text


def test_what_is_no_secret_is_left_alone() -> None:
    """Addresses, times and e-mail-like ids are written as they are."""
    event = "seen http://10.0.0.1:9464/metrics at 12:00, mail a@b"
    assert lines(logged(lambda log: log.info(event, key="chess|a@b|c", passed=3)))[0]["event"] == event


@given(values=st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_values_make_one_json_line(values: dict[str, Any]) -> None:
    """Whatever is logged, huge numbers and broken text included, gives one line that parses, and no error."""
    text = logged(lambda log: log.bind(**values).info("x"))
    assert text.count("\n") == 1
    assert lines(text)[0]["event"] == "x"


def test_the_callers_values_stay_as_they_are() -> None:
    """Hiding a secret in the line does not change the dict that was logged."""
    values = {"password": "Zq7", "n": 1}
    logged(lambda log: log.info("x", values=values))
    assert values == {"password": "Zq7", "n": 1}


def test_a_stream_that_fails_loses_the_line_and_nothing_else() -> None:
    """A full disk or a closed pipe must not fail a batch."""

    class Full(io.BytesIO):
        def write(self, _line: Any) -> int:
            raise OSError(errno.ENOSPC, "no space left")

    def act(log: Any) -> None:
        log.info("x")
        logging.getLogger("aiokafka").error("x")

    assert not logged(act, stream=Full())
    closed = io.BytesIO()
    configure_logging(LogFormat.JSON, LogLevel.INFO, closed, cache=False)
    closed.close()
    structlog.get_logger().info("x")


def test_a_library_line_with_a_wrong_format_is_written_as_it_is() -> None:
    """A library's own mistake in a log call costs neither the line nor the program."""
    [line] = lines(logged(lambda _log: logging.getLogger("aiokafka").error("%d records", "x")))
    assert line["event"] == "%d records ('x',)"


def test_configured_again_each_line_comes_once() -> None:
    """Configuring twice moves the libraries' lines to the new stream and does not double them."""
    streams = io.BytesIO(), io.BytesIO()
    for stream in streams:
        configure_logging(LogFormat.JSON, LogLevel.INFO, stream, cache=False)
    logging.getLogger("aiokafka").error("x")
    assert [stream.getvalue().count(b"\n") for stream in streams] == [0, 1]
