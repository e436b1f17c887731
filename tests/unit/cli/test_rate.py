"""`rating-worker rate`: what it makes of good lines and of bad ones."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.cli.matches import line, lines, policy_file, text
from worker.events import decode_match, encode_change
from worker.generator import World
from worker.policies import load_policies
from worker.rating import Book, Rated

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.cli.conftest import Ended

    Cli = Callable[..., Ended]

ROOT = Path(__file__).parents[3]


def test_the_changes_are_the_core_s_to_the_last_byte(cli: Cli) -> None:
    """Whatever a worker would publish for these matches, in this order, is what comes out."""
    end = datetime(2026, 3, 1, tzinfo=UTC)
    records = list(World(20, seed=7, run="r").records(500, end - timedelta(days=2), end))
    book = Book(load_policies())
    decoded = [decode_match(record.value, (), now=end, max_bytes=10_000) for record in records]
    outcomes = [book.rate(one.match) for one in decoded]
    changes = [change for outcome in outcomes if isinstance(outcome, Rated) for change in outcome.changes]
    ended = cli("rate", stdin=b"".join((record.value or b"") + b"\n" for record in records))
    assert ended.code == 0
    assert ended.out == text(encode_change(change).value.decode() for change in changes)
    assert f"{len(changes)} changes" in ended.err
    assert any(change.factors for change in changes)


def test_pools_decide_without_a_policy(cli: Cli) -> None:
    """Without --policy each pool is rated by its own policy."""
    ended = cli("rate", stdin=text([line(0, "a", "b", pool="yi"), line(1, "a", "b", pool="shax")]))
    assert [(change["policy"]["name"], change["before"]) for change in ended.lines[::2]] == [
        ("yiboard", 1200.0),
        ("biciid", 1000.0),
    ]


def test_one_policy_for_every_pool(cli: Cli) -> None:
    """With --policy every pool is rated by it, also one that no pools file knows."""
    ended = cli("rate", "--policy", "fide", stdin=text([line(0, "a", "b", pool="anything"), line(1, "a", "b")]))
    assert {change["policy"]["name"] for change in ended.lines} == {"fide"}


def test_a_named_policy_keeps_its_versions(cli: Cli) -> None:
    """Of a named policy the version counts that held when the match finished."""
    times = ("2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
    given = text(line(number, "a", "b", finished_at=time) for number, time in enumerate(times))
    ended = cli("rate", "--policy", "fide", stdin=given)
    assert [change["policy"]["version"] for change in ended.lines[::2]] == [1, 2]


def test_the_pools_file_of_the_settings(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's pools file and policies hold here as they do for the worker."""
    policy_file(tmp_path, ["k = 10"])
    (tmp_path / "pools.toml").write_text('[pools]\n"go" = "small"\n', encoding="utf-8")
    monkeypatch.setenv("RATING_POLICY_FILES", str(tmp_path / "policy.toml"))
    monkeypatch.setenv("RATING_POOLS_FILE", str(tmp_path / "pools.toml"))
    ended = cli("rate", stdin=text([line(0, "a", "b", pool="go"), line(1, "a", "b", pool="yi")]))
    assert ended.code == 65
    assert [change["delta"] for change in ended.lines] == [5.0, -5.0]
    assert "line 2: refused, unknown-pool" in ended.err


def test_bad_lines_are_told_and_left_out(cli: Cli) -> None:
    """A line that is no match is told with its number and reason, the others are rated, and the code says so."""
    bad = [
        "not json",
        line(1, "a", "a"),
        line(2, "a", "b", players=[]),
        '{"match_id": "x", "match_id": "y"}',
        "x" * 70_000,
        "[" * 300 + "]" * 300,
    ]
    ended = cli("rate", stdin=text([line(0, "a", "b"), *bad, line(3, "a", "b")]))
    assert ended.code == 65
    assert len(ended.lines) == 4
    reasons = ["not-json", "self-play", "schema", "duplicate-key", "too-large", "too-deep"]
    told = [text for text in ended.err.splitlines() if text.startswith("line ")]
    assert [text.split(": ")[:2] for text in told] == [
        [f"line {number}", f"refused, {reason}"] for number, reason in enumerate(reasons, start=2)
    ]
    assert "2 rated (4 changes), 6 refused." in ended.err


def test_bytes_that_are_no_text(cli: Cli) -> None:
    """A line that is not UTF-8 is refused like any other bad line."""
    ended = cli("rate", stdin=b'{"match_id":"\xff"}\n' + line(0, "a", "b").encode())
    assert (ended.code, len(ended.lines)) == (65, 2)
    assert "line 1: refused, not-utf8" in ended.err


def test_blank_lines_and_a_last_line_without_an_end(cli: Cli) -> None:
    """Blank lines are no lines, line ends may be those of Windows, and the last line needs none."""
    ended = cli("rate", stdin="\n" + line(0, "a", "b") + "\r\n  \n" + line(1, "a", "b"))
    assert (ended.code, len(ended.lines)) == (0, 4)


def test_a_match_that_comes_again(cli: Cli) -> None:
    """The same match again is told and rated once; the same id with other content is a conflict."""
    other = line(0, "a", "b", score=0)
    ended = cli("rate", stdin=text([line(0, "a", "b"), line(0, "a", "b"), other]))
    assert ended.code == 65
    assert len(ended.lines) == 2
    assert "line 2: duplicate, resent: match 'm0' came in line 1 already" in ended.err
    assert "line 3: refused, conflict: match 'm0' came in line 1 with other content" in ended.err


def test_other_events_are_refused(cli: Cli) -> None:
    """What is an event and no match is told as what it is: rating it needs what only the worker keeps."""
    void = {
        "type": "match-voided",
        "match_id": "m0",
        "pool": "yi",
        "players": ["a", "b"],
        "voided_at": "2026-03-01T00:00:00Z",
        "why": "cheating",
        "by": "the desk",
    }
    ended = cli("rate", stdin=text([line(0, "a", "b"), json.dumps(void)]))
    assert (ended.code, len(ended.lines)) == (65, 2)
    assert "line 2: refused, unknown-type: a match-voided event: only matches are rated here" in ended.err


def test_a_repeat_alone_is_no_error(cli: Cli) -> None:
    """A producer that sends twice has done nothing wrong."""
    assert cli("rate", stdin=text([line(0, "a", "b")] * 2)).code == 0


def test_what_is_not_rated_is_told_with_its_reason(cli: Cli) -> None:
    """A match that the policy does not rate moves nobody, and the reason is told."""
    given = [line(0, "a", "b", verified=False), line(1, "a", "b", pool="shax", match_type="casual")]
    ended = cli("rate", stdin=text(given))
    assert (ended.code, ended.out) == (0, "")
    assert "line 1: unrated, unverified" in ended.err
    assert "line 2: unrated, casual" in ended.err


def test_messages_as_json(cli: Cli) -> None:
    """With --json the messages are JSON lines as well, the counts the last."""
    ended = cli("rate", "--json", stdin=text([line(0, "a", "b"), line(0, "a", "b"), "x"]))
    notes: list[dict[str, Any]] = [json.loads(one) for one in ended.err.splitlines()]
    assert [(note.get("line"), note.get("outcome"), note.get("reason")) for note in notes[:-1]] == [
        (2, "duplicate", "resent"),
        (3, "refused", "not-json"),
    ]
    assert notes[-1] == {"summary": {"rated": 1, "changes": 2, "duplicate": 1, "refused": 1}}


def test_a_file_and_standard_input_give_the_same(cli: Cli, tmp_path: Path) -> None:
    """It makes no difference where the lines come from; `-` is standard input."""
    given = lines(*[("a", "b", 1.0)] * 3)
    (tmp_path / "matches.jsonl").write_text(given, encoding="utf-8")
    by_file = cli("rate", tmp_path / "matches.jsonl")
    assert by_file == cli("rate", stdin=given) == cli("rate", "-", stdin=given)
    assert len(by_file.lines) == 6


def test_a_file_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    """A file that can't be read is a mistake on the command line."""
    ended = cli("rate", tmp_path / "none.jsonl")
    assert (ended.code, ended.out) == (2, "")
    assert "none.jsonl can't be read: No such file or directory." in ended.err


def test_an_unknown_policy(cli: Cli) -> None:
    """A policy that is not there is told, with those that are."""
    ended = cli("rate", "--policy", "glicko", stdin=line(0, "a", "b"))
    assert ended.code == 2
    assert "No policy 'glicko': there are biciid, fide, yiboard" in ended.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("start = ", "is not TOML"),
        ('name = "x"\nversion = 1\n', "start: is missing"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_policy_file_that_can_t_be_used(cli: Cli, tmp_path: Path, content: str | None, said: str) -> None:
    """A policy file with a fault is something to mend; the fault is told with the file."""
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    ended = cli("rate", "--policy", path, stdin=line(0, "a", "b"))
    assert (ended.code, ended.out) == (78, "")
    assert f"{path}: {said}" in ended.err
    assert "Traceback" not in ended.err


def test_settings_that_can_t_be_used(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that is not allowed is something to mend; it is named."""
    monkeypatch.setenv("RATING_MAX_EVENT_BYTES", "many")
    ended = cli("rate", stdin=line(0, "a", "b"))
    assert ended.code == 78
    assert "RATING_MAX_EVENT_BYTES=many: allowed is a whole number" in ended.err


def test_a_reader_that_has_enough() -> None:
    """When whoever reads the output closes it, the command ends at once and quietly, by the code of a closed pipe."""
    process = subprocess.Popen(
        [sys.executable, "-m", "worker", "rate"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(line(0, "a", "b").encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["match_id"] == "m0"  # a pipe gets each line's changes at once
    process.stdout.close()
    for number in range(1, 50):
        try:
            process.stdin.write(line(number, "a", "b").encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            break
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (141, b"")


def test_no_progress_bar_outside_a_terminal(tmp_path: Path) -> None:
    """A bar is for terminals: with output to files there is none, whatever the environment forces."""
    (tmp_path / "matches.jsonl").write_text(lines(*[("a", "b", 1.0)] * 3), encoding="utf-8")
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "worker", "rate", tmp_path / "matches.jsonl"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        env=os.environ | {"FORCE_COLOR": "1"},
    )
    assert done.stderr == b"3 rated (6 changes).\n"


@pytest.mark.parametrize("colours", [True, False])
def test_a_progress_bar_on_a_terminal(tmp_path: Path, colours: bool) -> None:
    """A file that is rated on a terminal shows how far it is, without colours where NO_COLOR asks for none."""
    (tmp_path / "matches.jsonl").write_text(lines(*[("a", "b", 1.0)] * 3), encoding="utf-8")
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm-256color"} | ({} if colours else {"NO_COLOR": "1"})
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "worker", "rate", tmp_path / "matches.jsonl"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment,
    )
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert len(done.stdout.splitlines()) == 6
    assert b"rating" in shown
    assert b"3 rated (6 changes)." in shown
    assert (re.search(rb"\x1b\[3\d(;5;\d+)?m", shown) is not None) == colours


def test_every_fault_of_a_line_is_told(cli: Cli) -> None:
    """What is wrong with a line is told whole, not only the first of it; a line that is no object has one fault."""
    bad = {"match_id": "", "pool": "yi", "players": [{"id": "a", "score": 2}, {"id": "b", "score": 0}]}
    ended = cli("rate", stdin=text([json.dumps(bad), "[1]"]))
    first, second, _ = ended.err.splitlines()
    assert first.startswith("line 1: refused, bad-scores: $.players[0].score is 2; it must be")
    for field in ("$.match_id", "$.finished_at is missing"):
        assert field in first
    assert "more)" not in first
    assert second == "line 2: refused, schema: $ is [1]; it must be a JSON object"


EXAMPLES = ROOT / "schemas" / "examples"


@pytest.mark.parametrize("name", ["match-voided", "player-sanctioned", "sanction-lifted", "entries-closed"])
def test_an_event_without_its_type(cli: Cli, name: str) -> None:
    """An event that is no match and does not say what it is, or misspells it, is told what its type would be."""
    [document, *_] = (json.loads(file.read_text()) for file in sorted((EXAMPLES / name / "valid").iterdir()))
    for found in ({}, {"type": f"{name}s"}):
        ended = cli("rate", stdin=text([json.dumps({**document, **found})]))
        assert ended.code == 65
        assert f'"type": "{name}"' in ended.err
        assert ("there is no field type" if not found else f'$.type is "{name}s"') in ended.err


def test_a_type_that_is_none(cli: Cli) -> None:
    """A broken line with a type that no event has was taken for a match: it says so and names the types there are."""
    ended = cli("rate", stdin=text([json.dumps({"type": "match-voidd", "match_id": "m"})]))
    assert (
        '$.type is "match-voidd", which is no event, so it was taken for a match; events are match-voided' in ended.err
    )
    assert (
        "$.type" not in cli("rate", stdin=text([json.dumps({"type": "ladder", **json.loads(line(0, "a", "b"))})])).err
    )
