"""What holds for every command: help, versions, codes, and that nothing secret is ever shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer

import worker.cli
from worker import __version__
from worker.cli import exits
from worker.cli.exits import MEANINGS, CommandError, Exit, command
from worker.rating import PolicyError
from worker.settings import Settings, SettingsError, settings_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.unit.cli.conftest import Ended

    Cli = Callable[..., Ended]

ROOT = Path(__file__).parents[3]
COMMANDS = (
    *("run", "dead-letters", "migrate", "topics", "check", "settings", "leaderboard", "player", "explain", "policy"),
    *("sanctions", "integrity", "verify"),
    *("rate", "produce", "generate", "demo", "dev"),
)
OF_GROUPS = (
    *("policy list", "policy show", "policy diff"),
    *("dead-letters list", "dead-letters show", "dead-letters replay"),
)


def in_a_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does."""
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "worker", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("name", [*COMMANDS, *OF_GROUPS])
def test_every_command_explains_itself(cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """--help and -h say what a command does, in whole sentences that fit into a terminal, and end well."""
    monkeypatch.setenv("COLUMNS", "80")
    ended = cli(*name.split(), "--help")
    assert ended.code == 0
    assert f"Usage: rating-worker {name}" in ended.out.replace("Usage: root", "Usage: rating-worker")
    assert len(ended.out.splitlines()) > 8
    assert [line for line in ended.out.splitlines() if len(line) > 80] == []
    assert cli(*name.split(), "-h").out == ended.out


def test_help_lists_every_command_and_every_code(cli: Cli) -> None:
    """The first help names all commands and the meaning of every exit code; without arguments it is shown as well."""
    shown = cli("--help").out
    flat = " ".join(shown.split())
    assert [name for name in COMMANDS if f" {name} " not in flat] == []
    plain = {code: meaning.replace("`", "") for code, meaning in MEANINGS.items()}
    assert [code for code, meaning in plain.items() if f"{code.value}: {meaning}" not in flat] == []
    assert (cli().out + cli().err).strip() == shown.strip()


def test_the_table_of_codes_is_the_one_in_the_docstring() -> None:
    """The package's docstring has the same table, with the same words."""
    documented = [line.split(maxsplit=1) for line in (worker.cli.__doc__ or "").splitlines() if line.startswith("    ")]
    assert documented == [[str(code.value), meaning] for code, meaning in MEANINGS.items()]
    assert set(MEANINGS) == set(Exit)


def test_version(cli: Cli) -> None:
    """--version prints the version and nothing else."""
    assert cli("--version").out == f"rating-worker {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("rate", "--nonsense"), ("leaderboard",), ("leaderboard", "yi", "--limit", "0"), ("demo", "x")],
)
def test_a_wrong_command_line(cli: Cli, arguments: tuple[str, ...]) -> None:
    """A command line that can't be understood ends with 2 and a word about it, on standard error."""
    ended = cli(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "Error" in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("integrity", "a", "--kind", "x"), "'--kind': 'x' is not one of 'farming', 'win-trading'"),
        (("dead-letters", "list", "--reason", "x"), "'--reason': 'x' is not one of 'tombstone'"),
        (("leaderboard", "yi", "--limit", "0"), "'--limit': 0 is too small: it must be 1 or more."),
        (("leaderboard", "yi", "--limit", "10001"), "'--limit': 10001 is too large: it must be 10000 or less."),
        (("leaderboard", "yi", "--limit", "x"), "'--limit': 'x' is no whole number."),
        (("demo", "--timeout", "x"), "'x' is no number."),
    ],
)
def test_a_value_that_is_not_allowed(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    """What is wrong with a value is told in words, none of them a library's."""
    ended = cli(*arguments)
    assert ended.code == 2
    assert words in " ".join(ended.err.replace("│", " ").split())


@pytest.mark.parametrize("cursor", ["x", "", "WzEsMl0", "W10", "eyJhIjoxfQ", "WzEuMCwtMSwwXQ", "bnVsbA"])
def test_a_cursor_that_no_page_gave(cli: Cli, cursor: str) -> None:
    """A cursor that is none is a mistake on the command line, before anything is connected to."""
    ended = cli("leaderboard", "yi", "--after", cursor)
    assert ended.code == 2
    assert "is no cursor" in ended.err


def test_settings(cli: Cli) -> None:
    """The settings are printed as the Markdown table, or as JSON with the same rows."""
    assert cli("settings").out == settings_table()
    rows = cli("settings", "--json")
    assert rows.code == 0
    assert rows.out.count('"variable": "RATING_') == len(Settings.model_fields)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("s"), Exit.CONFIG),
        (PolicyError(["s"]), Exit.CONFIG),
        (CommandError("s", Exit.DATA), Exit.DATA),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (ZeroDivisionError("s"), Exit.FAILED),
        (typer.Exit(3), 3),
    ],
    ids=repr,
)
def test_the_code_of_every_error(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever ends a command ends it with its own code; what somebody must mend is told in one message."""
    monkeypatch.setattr(exits, "quiet", lambda: None)
    logged: list[str] = []
    monkeypatch.setattr(exits._log, "exception", lambda event, **_: logged.append(event), raising=False)

    @command
    def failing() -> None:
        raise error

    with pytest.raises(typer.Exit) as ended:
        failing()
    assert ended.value.exit_code == code
    said = capsys.readouterr()
    assert said.out == ""
    assert bool(logged) == isinstance(error, ZeroDivisionError)
    assert bool(said.err) == (code in {Exit.CONFIG, Exit.DATA})


UNREACHABLE = {
    "RATING_DATABASE_URL": "postgresql://u:sesame@127.0.0.1:1/x?sslkey=sesame",
    "RATING_KAFKA_BOOTSTRAP": "127.0.0.1:1",
}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("check",), 78),
        (("check", "--json"), 78),
        (("migrate",), 75),
        (("topics",), 75),
        (("topics", "--create"), 75),
        (("leaderboard", "yi"), 75),
        (("player", "a"), 75),
        (("explain", "m"), 75),
        (("policy", "list", "--database"), 75),
        (("sanctions", "a"), 75),
        (("integrity", "a"), 75),
        (("verify",), 75),
        (("dead-letters", "list"), 75),
        (("dead-letters", "show", "match-events.dlq/0/1"), 75),
        (("dead-letters", "replay", "--yes"), 75),
        (("produce",), 75),
        (("generate",), 75),
        (("demo",), 75),
        (("dev",), 75),
    ],
    ids=str,
)
def test_everything_is_away(cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int) -> None:
    """With nothing reachable every command says so in one message, without a password, and ends with its code."""
    for name, value in UNREACHABLE.items():
        monkeypatch.setenv(name, value)
    ended = cli(*arguments)
    assert ended.code == code
    assert "127.0.0.1:1" in ended.out + ended.err
    assert "sesame" not in ended.out + ended.err
    assert len(ended.err.splitlines()) <= 1


def test_check_names_variables_that_are_no_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that nothing reads is a warning with the setting most like it, beside all else that is found."""
    for name, value in {**UNREACHABLE, "RATING_METRICS_PORT": "9464"}.items():
        monkeypatch.setenv(name, value)
    lines = cli("check").out.splitlines()
    [at] = [number for number, line in enumerate(lines) if "RATING_METRICS_PORT" in line]
    assert lines[at].startswith("warning ")
    assert "RATING_HTTP_PORT" in lines[at + 1]


@pytest.mark.parametrize(("name", "code"), [("check", 78), ("topics", 75)])
def test_libraries_do_not_chime_in(name: str, code: int) -> None:
    """With nothing reachable the command's own message is all that is said: no log lines of libraries, no traceback."""
    done = in_a_process(name, **UNREACHABLE)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == (0 if name == "check" else 1)
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["rate", "migrate", "demo", "leaderboard yi", "check", "policy list"])
@pytest.mark.parametrize(
    "environment",
    [
        {"RATING_DATABASE_URL": "postgresql://u:se/same@db/x"},
        {"RATING_BATCH_MAX_RECORDS": "high", "RATING_DATABASE_URL": "postgresql://u:se/same@db/x"},
    ],
    ids=["bad URL", "two faults"],
)
def test_settings_that_can_t_be_used(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str, environment: Mapping[str, str]
) -> None:
    """Settings that are not allowed end a command with 78, all named in one message, a secret never shown."""
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    ended = cli(*name.split())
    said = ended.out + ended.err
    assert ended.code == 78
    assert [variable for variable in environment if variable not in said] == []
    assert "same" not in said


@pytest.mark.parametrize("arguments", [("demo",), ("dev",), ("demo", "--json")], ids=" ".join)
def test_made_up_matches_stay_on_this_machine(cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str]) -> None:
    """The demo writes nowhere but on this machine, unless that is said to be meant."""
    monkeypatch.setenv("RATING_KAFKA_BOOTSTRAP", "localhost:9092,kafka.example:9092")
    monkeypatch.setenv("RATING_DATABASE_URL", "postgresql://u:p@[2001:db8::1]:5432,127.0.0.1/x")
    ended = cli(*arguments)
    assert ended.code == 2
    assert "2001:db8::1, kafka.example is not this machine" in ended.err


def test_a_terminal_without_utf8() -> None:
    """Where the terminal knows only ASCII, nothing breaks."""
    done = in_a_process("--help", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0
    assert done.stdout.isascii()
    settings = in_a_process("settings", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert settings.returncode == 0


def test_a_closed_standard_error() -> None:
    """A closed standard error loses the message and changes nothing else."""
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "worker", "rate", "none.jsonl"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
