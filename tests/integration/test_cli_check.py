"""`rating-worker check` on a real Kafka and a real Postgres."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.support.kafka import read_all
from tests.support.waiting import until
from tests.unit.cli.processes import Ended, cli, cli_process, role, seen, sql, start, url_of
from worker.cli.topic_facts import topic_facts
from worker.stream import client
from worker.stream.topics import wanted

if TYPE_CHECKING:
    from pathlib import Path

    from worker.settings import Settings


async def configure_topic(settings: Settings, topic: str, **values: str) -> None:
    """Set what a topic is configured to, dots for underscores, and wait until the broker says so."""
    resource = ConfigResource(
        ConfigResourceType.TOPIC, topic, {name.replace("_", "."): values[name] for name in values}
    )
    admin = client.admin(settings)
    await admin.start()
    try:
        [answer] = await admin.alter_configs([resource])
        assert [code for code, *_ in answer.resources] == [0]
    finally:
        await admin.close()

    async def is_so() -> bool:
        fact = (await topic_facts(settings, configured=True))[topic]
        return all(fact.config.get(name) == value for name, value in resource.configs.items())

    await until(is_so, 30)


@pytest.fixture
async def ready(settings: Settings) -> Settings:
    """Settings whose topics the broker shows."""
    return await seen(settings)


def findings(ended: Ended) -> dict[str, tuple[str, str, str]]:
    """Give what `check --json` found, by name."""
    return {one["name"]: (one["state"], one["detail"], one["mend"]) for one in ended.json()["findings"]}


async def test_check_finds_all_well(ready: Settings) -> None:
    """With everything as it must be, every line is ok and the command ends with 0, in either form."""
    ended = await cli(ready, "check")
    assert ended.code == 0, ended.out
    assert {line.split()[0] for line in ended.out.splitlines()} == {"ok"}
    in_json = await cli(ready, "check", "--json")
    assert in_json.code == 0
    assert in_json.json()["ok"] is True
    assert findings(in_json)[f"topic {ready.match_topic}"][1] == "partitions: 12, replicas: 1"
    assert findings(in_json)["transactions"][0] == "ok"


async def test_check_before_anything_is_made(blank_settings: Settings) -> None:
    """An unmigrated database and missing topics are all named at once, each with the command that mends it."""
    ended = await cli(blank_settings, "check", "--json")
    assert ended.code == 78
    found = findings(ended)
    assert found["schema"][0] == "WRONG"
    assert "rating-worker migrate" in found["schema"][2]
    for topic in wanted(blank_settings):
        assert found[f"topic {topic}"][:2] == ("WRONG", "is missing")
    assert found["Kafka"][0] == found["Postgres"][0] == "ok"


async def test_check_finds_topics_that_lose_matches(ready: Settings) -> None:
    """A compacted match topic and dead letters that are too small for a match are named with what to set."""
    await configure_topic(ready, ready.match_topic, cleanup_policy="compact")
    await configure_topic(ready, ready.dead_letter_topic, max_message_bytes="1000")
    await configure_topic(ready, ready.rating_topic, max_message_bytes="1000")
    ended = await cli(ready, "check", "--json")
    assert ended.code == 78
    found = findings(ended)
    assert found[f"cleanup of {ready.match_topic}"][0] == "WRONG"
    assert "cleanup.policy=delete" in found[f"cleanup of {ready.match_topic}"][2]
    for topic in (ready.dead_letter_topic, ready.rating_topic):
        assert found[f"size of {topic}"][0] == "WRONG"
        assert "max.message.bytes" in found[f"size of {topic}"][2]


async def test_check_finds_a_policy_that_was_changed(ready: Settings, tmp_path: Path) -> None:
    """A policy version whose content differs from the ledger's is named, before a worker refuses to start with it."""
    text = (
        'name = "mine"\nversion = 1\nstart = {}\nprovisional_games = 0\n[expected]\nmethod = "logistic"\nscale = 400\n'
    )
    text += '[[k_factor]]\nname = "all"\nk = 10\n[[ladder]]\ntitle = "anyone"\n'
    path = tmp_path / "mine.toml"
    path.write_text(text.format(1500), encoding="utf-8")
    files = {"RATING_POLICY_FILES": str(path)}
    process = await start(ready, "run", RATING_LOG_FORMAT="json", **files)
    assert process.stderr
    async for line in process.stderr:
        if b"partitions assigned" in line:
            break
    process.terminate()
    await process.communicate()
    assert process.returncode == 0
    assert (await cli(ready, "check", **files)).code == 0
    path.write_text(text.format(1600), encoding="utf-8")
    ended = await cli(ready, "check", "--json", **files)
    assert ended.code == 78
    state, detail, mend = findings(ended)["policies in the ledger"]
    assert state == "WRONG"
    assert "mine version 1 has digest" in detail
    assert "version 2" in mend
    refused = await cli_process(ready, "run", **files)
    assert refused.code == 78
    last = json.loads(refused.err.splitlines()[-1])
    assert last["event"].startswith("Policy mine version 1 was changed")
    assert last["exit_code"] == 78


async def test_check_finds_missing_rights(ready: Settings) -> None:
    """A role that may not write what the worker writes is named with what to grant."""
    await sql(ready, f"create role {role(ready)} login")
    await sql(ready, f"grant select on all tables in schema public to {role(ready)}")
    ended = await cli(ready, "check", "--json", RATING_DATABASE_URL=url_of(ready, login=role(ready)))
    assert ended.code == 78
    found = findings(ended)
    assert found["rights"][0] == "WRONG"
    assert "insert on matches" in found["rights"][1]
    assert "select" not in found["rights"][1]
    assert found["schema"][0] == found["policies in the ledger"][0] == "ok"


async def test_check_with_a_role_that_may_read_nothing(settings: Settings) -> None:
    """A role without any right is told so; what can't be looked at is said to be unknown."""
    await sql(settings, f"create role {role(settings)} login")
    ended = await cli(settings, "check", "--json", RATING_DATABASE_URL=url_of(settings, login=role(settings)))
    assert ended.code == 78
    assert findings(ended)["rights"][0] == "WRONG"
    assert findings(ended)["schema"][0] == "unknown"


async def test_check_leaves_everything_as_it_was(ready: Settings) -> None:
    """check writes nothing: no policy is registered, no topic made, no record sent."""
    await cli(ready, "check")
    assert await sql(ready, "select count(*) from policies") == 0
    for topic in wanted(ready):
        assert await read_all(ready, topic) == []
