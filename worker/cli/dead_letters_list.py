"""Lists of dead letters, their numbers, and what a replay did, as tables and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from worker.cli.dead_letters_advice import advice
from worker.cli.dead_letters_bytes import bytes_json, shown_bytes
from worker.cli.dead_letters_replay import Left
from worker.cli.dead_letters_show import failure_json
from worker.cli.output import cell, counted, sentence, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from worker.cli.dead_letters_reading import Listed, Summary
    from worker.cli.dead_letters_replay import Outcome, Terms

_LONGEST_KEY, _LONGEST_DETAIL = 40, 100
_WIDE = 160  # columns that a line needs for all that is told of a letter
_HOURS = 24
_HOPELESS = "fails again: the record itself is at fault"
_TO_MEND = (
    "`dead-letters show PLACE` says how to correct such a record; --reason, its place or --force sends it as it is."
)


def listed_json(listed: Listed) -> dict[str, Any]:
    """Give a letter of a list: all but its value and the headers that it came with."""
    return {
        **failure_json(listed.letter),
        "key": bytes_json(listed.letter.key),
        "key_bytes": listed.key_bytes,
        "value_bytes": listed.value_bytes,
        "replayed": listed.replayed,
    }


def print_list(out: Console, letters: Sequence[Listed]) -> None:
    """Print letters: when each failed, why, where it is, its key and the first words of what was wrong."""
    if out.width >= _WIDE:
        whole = ("failed (UTC)", "reason", "letter", "")
        shown = table(*whole, "key", "detail", whole=whole)
        for one in letters:
            shown.add_row(*_when_and_why(one), _place(one), _state(one), *_content(one))
    else:  # what a wide terminal has side by side stands one above the other
        shown = table("failed (UTC)", "letter", whole=("failed (UTC)",))
        for one in letters:
            state = Text("  ") + _state(one)
            shown.add_row(_lines(*_when_and_why(one)), _lines(_place(one) + state, *_content(one)))
    out.print(shown)


def print_summary(out: Console, summary: Summary) -> None:
    """Print how many letters there are of each reason, topic and hour; of the hours the last that have any."""
    for title, counts in (("reason", summary.reasons), ("came from", summary.topics)):
        out.print(_counted(title, dict(counts.most_common())))
    hours = {f"{hour.replace('T', ' ')}h": summary.hours[hour] for hour in sorted(summary.hours)[-_HOURS:]}
    out.print(_counted("failed in the hour (UTC)", hours))
    again = sum(count for attempt, count in summary.attempts.items() if attempt > 1)
    sentence(out, f"{counted(summary.reasons.total(), 'letter')}, {again} of records that were sent back before.")


def summary_json(summary: Summary) -> dict[str, Any]:
    """Give how many letters there are of each kind."""
    return {
        "letters": summary.reasons.total(),
        "by_reason": dict(summary.reasons.most_common()),
        "by_topic": dict(summary.topics.most_common()),
        "by_hour": dict(sorted(summary.hours.items())),
        "by_attempt": dict(sorted(summary.attempts.items())),
    }


def print_outcome(out: Console, outcome: Outcome, terms: Terms) -> None:
    """Print what a replay did, or would do."""
    sent = {one: count for one, count in outcome.sent.items() if count}
    if sent:
        shown = table(
            "sent back to" if terms.send else "to send back to", "reason", "letters", "", numbers=("letters",)
        )
        for (topic, reason), count in sorted(sent.items()):
            hopeless = not advice(reason).mendable
            shown.add_row(cell(topic), cell(reason), str(count), cell(_HOPELESS if hopeless else "", "yellow"))
        out.print(shown)
    for why, count in outcome.left.items():
        places = ", ".join(map(str, outcome.examples[why])) + (", …" if count > len(outcome.examples[why]) else "")
        sentence(out, f"Left where they are: {count}, {why} ({places}).")
    if Left.HOPELESS in outcome.left:
        sentence(out, _TO_MEND)
    for place in outcome.missing:
        sentence(out, f"No letter at {place}, and none that came from there.")
    total = sum(sent.values())
    more = " There are more: --limit." if outcome.more else ""
    if terms.send:
        sentence(out, f"{total} sent back and marked.{more}")
    elif total:
        sentence(out, f"Nothing was sent. With --yes {total} would be.{more}")
    else:
        sentence(out, "There is nothing to send.")


def outcome_json(outcome: Outcome, terms: Terms) -> dict[str, Any]:
    """Give what a replay did, or would do."""
    return {
        "dry_run": not terms.send,
        "letters": outcome.sent.total(),
        "by": [
            {"topic": topic, "reason": reason, "letters": count}
            for (topic, reason), count in sorted(outcome.sent.items())
            if count
        ],
        "left": [
            {"why": why, "letters": count, "examples": [str(place) for place in outcome.examples[why]]}
            for why, count in outcome.left.items()
        ],
        "missing": [str(place) for place in outcome.missing],
        "more": outcome.more,
    }


def _when_and_why(one: Listed) -> tuple[Text, Text]:
    failure = one.letter.failure
    return cell(f"{failure.failed_at:%Y-%m-%d %H:%M:%S}"), cell(failure.reason)


def _place(one: Listed) -> Text:
    return cell(one.letter.place, "bold")


def _state(one: Listed) -> Text:
    attempt = one.letter.failure.attempt
    states = ([f"attempt {attempt}"] if attempt > 1 else []) + (["sent back"] if one.replayed else [])
    return cell(", ".join(states), "yellow")


def _content(one: Listed) -> tuple[Text, Text]:
    detail = one.letter.failure.detail
    words = detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:_LONGEST_DETAIL]}…"
    return cell(shown_bytes(one.letter.key, _LONGEST_KEY)), cell(words, "dim")


def _lines(*parts: Text) -> Text:
    return Text("\n").join(parts)


def _counted(title: str, counts: Mapping[str, int]) -> Table:
    shown = table(title, "letters", numbers=("letters",), whole=(title, "letters"))
    for name, count in counts.items():
        shown.add_row(cell(name), str(count))
    return shown
