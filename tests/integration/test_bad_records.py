"""Bad records on real services: each is kept, with a reason that a backend engineer understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest

from tests.support.checker import check
from tests.support.kafka import Raw, produce, read_all, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.running import running
from tests.support.waiting import until

if TYPE_CHECKING:
    from worker.settings import Settings

GOOD: dict[str, Any] = {
    "match_id": "bad",
    "pool": "yi",
    "finished_at": "2026-03-01T12:00:00Z",
    "players": [{"id": "ann", "score": 1}, {"id": "bob", "score": 0}],
}


def but(**changed: Any) -> bytes:
    """Give a good match with some fields changed."""
    return orjson.dumps(GOOD | changed)


def players(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    """Give players with scores."""
    return [{"id": player, "score": score} for player, score in pairs]


# What came in, the reason in the header, and words that the sentence for people must have.
BAD: list[tuple[bytes | None, str, str]] = [
    (b"match finished!", "not-json", "isn't JSON"),
    (but(match_id=17), "bad-id", "$.match_id"),
    (but(players="ann, bob"), "schema", "$.players"),
    (but(pool="go/19x19"), "unknown-pool", "go/19x19"),
    (but(players=players(("ann", 1), ("ann", 0))), "self-play", "must differ"),
    (but(players=players(("ann", 1), ("bob", 0), ("cid", 0))), "schema", "$.players"),
    (but(players=players(("ann", 1), ("bob", 1))), "bad-scores", "add up to 1"),
    (but(match_id="a\0b"), "bad-id", "$.match_id"),
    (but(match_id="m" * 1_000_000), "too-large", "bytes"),
    (but(match_id="m" * 10_000), "bad-id", "$.match_id"),
    (but(finished_at="0000-03-01T12:00:00Z"), "bad-time", "finished_at"),
    (but(finished_at="10000-03-01T12:00:00Z"), "bad-time", "finished_at"),
    (but(finished_at="2026-03-01T12:00:00"), "bad-time", "finished_at"),
    (but(finished_at="2999-03-01T12:00:00Z"), "future", "ahead of the worker's clock"),
    (b'{"match_id": NaN}', "not-json", "isn't JSON"),
    (but()[:-1] + b', "pool": "shax"}', "duplicate-key", "comes twice"),
    (b"", "empty", "empty"),
    (None, "tombstone", "no value"),
    (but(match_id="x").replace(b'"x"', b'"\xff\xfe"'), "not-utf8", "UTF-8"),
    (b"[" * 5_000, "too-deep", "nested"),
    (b"[]", "schema", "$"),
]


async def test_bad_records_are_kept_and_the_good_ones_around_them_rated(settings: Settings) -> None:
    """Each bad record is in the dead-letter topic as it came, with its reason, and every good one is rated once."""
    matches = stream(len(BAD) * 10, players=20, seed=10)
    records = [record_of(match) for match in matches]
    for number, (value, _, _) in enumerate(BAD):
        records.insert(number * 10 + 5, Raw(b"yi|ann|bob", value, (("trace", b"t"), ("n", str(number).encode()))))
    await produce(settings, records)
    async with running(settings) as worker:
        assert worker.pipeline is not None
        totals = worker.pipeline.totals
        await until(lambda: totals["records"] == len(records), 30)
        metrics = await scrape(worker.http.url)
    assert totals["dead_lettered"] == len(BAD)
    assert (await check(settings, matches)).wrong() == {}
    letters = {letter.header("n"): letter for letter in await read_all(settings, settings.dead_letter_topic)}
    assert len(letters) == len(BAD)
    for number, (value, reason, words) in enumerate(BAD):
        letter = letters[str(number)]
        assert (letter.key, letter.value, letter.headers[0]) == (b"yi|ann|bob", value, ("trace", b"t"))
        assert letter.header("dlq.reason") == reason, letter.header("dlq.detail")
        assert words in (letter.header("dlq.detail") or "")
        assert letter.header("dlq.topic") == settings.match_topic
        assert int(letter.header("dlq.offset") or -1) >= 0
        assert f'rating_records_total{{outcome="dead-lettered",reason="{reason}"}}' in metrics


async def scrape(url: str) -> str:
    """Fetch the metrics."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as answer:
        assert answer.status == 200
        return await answer.text()


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
async def test_both_delivery_modes_publish_each_change_once(settings: Settings, delivery: str) -> None:
    """With nothing going wrong, either mode publishes every change once and in order, and keeps what is bad."""
    settings = type(settings).model_validate(settings.model_dump() | {"delivery": delivery})
    matches = stream(1_500, players=50, seed=11)
    await produce(settings, [*map(record_of, matches), Raw(None, b"?")])
    async with running(settings):
        await until_all_committed(settings)
    assert (await check(settings, matches)).wrong() == {}
    assert [letter.header("dlq.reason") for letter in await read_all(settings, settings.dead_letter_topic)] == [
        "not-json"
    ]
