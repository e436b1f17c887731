"""`dead-letters`: what could not be taken, why, and sending it back once the cause is mended."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import sys
from contextlib import aclosing
from typing import Annotated

import orjson
import typer

from worker.cli import dead_letters_list
from worker.cli.dead_letters_filter import WHEN, Filter, filter_of
from worker.cli.dead_letters_reading import Listed, newest, oldest, summary
from worker.cli.dead_letters_replay import Outcome, Terms, replay
from worker.cli.dead_letters_show import look_at, print_shown, shown_json
from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import console, print_json, say
from worker.cli.running import run
from worker.events import Place, Reject
from worker.settings import Settings, load_settings

_LONGEST_PAGE = 10_000

Reasons = Annotated[
    list[Reject] | None,
    typer.Option("--reason", metavar="REASON", help="Only those refused for this reason; may be given again."),
]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC",
        help="Only those of records from this topic, or in this one of dead letters; may be given again.",
    ),
]
Since = Annotated[str | None, typer.Option(metavar="TIME", help=f"Only those that failed since then: {WHEN}.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Only those that failed before; as --since.")]
Key = Annotated[str | None, typer.Option(help="Only those of records with this key.")]
Text = Annotated[
    str | None, typer.Option("--text", metavar="TEXT", help="Only those with this in the value or key, say a match id.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@command
def list_letters(
    reason: Reasons = None,
    topic: Topics = None,
    since: Since = None,
    until: Until = None,
    key: Key = None,
    text: Text = None,
    unreplayed: Annotated[bool, typer.Option("--open", help="Only those that no replay has sent back.")] = False,
    limit: Annotated[
        int,
        typer.Option(min=0, max=_LONGEST_PAGE, help="How many at most; 0 is all, for --json with --oldest-first."),
    ] = 50,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Not the newest first.")] = False,
    in_numbers: Annotated[
        bool, typer.Option("--summary", help="Only how many there are, by reason, topic and hour.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one line a letter.")] = False,
) -> None:
    """List dead letters: when each failed, why, where it is, its key and what was wrong.

    Reading them moves no offset and changes nothing. The newest are found from the end of the topics; --since goes
    straight to that time.
    """
    settings = load_settings()
    chosen = filter_of(settings, reasons=reason or (), topics=topic or (), since=since, until=until, key=key, text=text)
    if in_numbers:
        _summarise(settings, chosen, unreplayed=unreplayed, as_json=as_json)
    elif limit == 0:
        if not (as_json and oldest_first):
            raise typer.BadParameter("0 is for --json with --oldest-first", param_hint="--limit")
        run(_stream(settings, chosen, unreplayed=unreplayed))
    else:
        found, more = run(_page(settings, chosen, limit, oldest_first=oldest_first, unreplayed=unreplayed))
        _print_page(found, more=more, as_json=as_json)


@command
def show_letter(
    place: Annotated[
        str,
        typer.Argument(
            metavar="PLACE",
            help="TOPIC/PARTITION/OFFSET: where the letter is, such as match-events.dlq/0/17; or where its record came "
            "from, such as match-events/3/48213, for the last letter of it.",
        ),
    ],
    only_value: Annotated[bool, typer.Option("--value", help="Print the value alone, to the byte.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a dead letter whole: the record as it came, why it was refused, what became of it, and what to do.

    To correct a match and send it: `show PLACE --value | jq -c . > match.jsonl`, correct the line, `rating-worker
    produce match.jsonl`. What is no match needs a field `type`, such as match-voided, if a header said so before.
    """
    settings = load_settings()
    if only_value and as_json:
        raise typer.BadParameter("--value and --json don't go together", param_hint="--value")
    at = _places([place])[0]
    shown = run(look_at(settings, filter_of(settings, places=[at]), at))
    if as_json:
        print_json(shown_json(shown))
    elif not only_value:
        print_shown(console(), shown)
    elif shown.letter.value is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(shown.letter.value)
        sys.stdout.buffer.flush()
    else:
        why = (
            "its value was left out and is gone from where it came from"
            if shown.gone
            else "it has no value (a tombstone)"
        )
        raise CommandError(f"{shown.letter.place}: {why}.", Exit.FAILED)


@command
def replay_letters(
    place: Annotated[
        list[str] | None,
        typer.Argument(metavar="PLACE", help="Only these: where each is, or where its record came from."),
    ] = None,
    reason: Reasons = None,
    topic: Topics = None,
    since: Since = None,
    until: Until = None,
    key: Key = None,
    text: Text = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Send so many at most, the oldest first.")] = None,
    max_attempts: Annotated[
        int, typer.Option(min=1, help="Leave out what has failed so often; the first time counts.")
    ] = 3,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Send also what was sent back before, has failed too often, or can only fail again."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Send them; without it, only say what would be sent.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send dead letters back to where they came from, once what was wrong with them is mended.

    Each goes back to its partition with its own key, value and headers, and with headers that count the attempt
    (dlq.attempt, dlq.replayed-from, dlq.replayed-at). A mark beside the letter says that it was sent back, and a letter
    with a mark is not sent again; a replay that was cut short is simply run again. Whatever is sent twice all the same
    counts once, by its id.

    It reads what is there when it starts, once: what fails again is a new letter, with one attempt more, for another
    replay. A record that is itself at fault would only fail again, so it stays unless --reason, its place or --force
    asks for it; to change what it says, see `dead-letters show`.
    """
    settings = load_settings()
    chosen = filter_of(
        settings,
        reasons=reason or (),
        topics=topic or (),
        since=since,
        until=until,
        key=key,
        text=text,
        places=_places(place or ()),
    )
    terms = Terms(send=yes, limit=limit, max_attempts=max_attempts, force=force)
    outcome: Outcome = run(replay(settings, chosen, terms))
    if as_json:
        print_json(dead_letters_list.outcome_json(outcome, terms))
    else:
        dead_letters_list.print_outcome(console(), outcome, terms)
    if not outcome.settled:
        raise typer.Exit(Exit.DATA)


dead_letters = typer.Typer(
    no_args_is_help=True,
    help="What the worker could not take, and why; sending it back once the cause is mended.",
)
dead_letters.command("list")(list_letters)
dead_letters.command("show")(show_letter)
dead_letters.command("replay")(replay_letters)


def _summarise(settings: Settings, chosen: Filter, *, unreplayed: bool, as_json: bool) -> None:
    counts = run(summary(settings, chosen, unreplayed=unreplayed))
    if as_json:
        print_json(dead_letters_list.summary_json(counts))
    else:
        dead_letters_list.print_summary(console(), counts)


async def _page(
    settings: Settings, chosen: Filter, limit: int, *, oldest_first: bool, unreplayed: bool
) -> tuple[list[Listed], bool]:
    if not oldest_first:
        return await newest(settings, chosen, limit, unreplayed=unreplayed)
    found: list[Listed] = []
    async with aclosing(oldest(settings, chosen, unreplayed=unreplayed)) as letters:
        async for listed in letters:
            found.append(listed)
            if len(found) > limit:
                break
    return found[:limit], len(found) > limit


async def _stream(settings: Settings, chosen: Filter, *, unreplayed: bool) -> None:
    letters = oldest(settings, chosen, unreplayed=unreplayed, bar=not sys.stdout.isatty())
    async with aclosing(letters):
        async for listed in letters:
            _print_line(listed)


def _print_page(found: list[Listed], *, more: bool, as_json: bool) -> None:
    if as_json:
        for listed in found:
            _print_line(listed)
    elif found:
        dead_letters_list.print_list(console(), found)
    else:
        say("No dead letters." if not more else "")
    if more:
        say("There are more: --limit, or --summary for their numbers.")


def _print_line(listed: Listed) -> None:
    sys.stdout.buffer.write(orjson.dumps(dead_letters_list.listed_json(listed), option=orjson.OPT_UTC_Z) + b"\n")


def _places(texts: list[str] | tuple[()]) -> list[Place]:
    try:
        return [Place.parse(text) for text in texts]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="PLACE") from error
