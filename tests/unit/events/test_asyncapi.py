from __future__ import annotations

import json
from typing import Any

import pytest

from worker.events import INCOMING, OUTGOING, name_of, schema_folder

FILES = [*map(name_of, (*INCOMING, *OUTGOING)), "dead-letter-headers"]
CHANNELS = {
    "match-events": {"match-finished", "match-voided"},
    "verdict-events": {"player-sanctioned", "sanction-lifted"},
    "tournament-events": {"tournament-opened", "entries-closed", "tournament-finished"},
    "rating-events": {"rating-changed"},
    "rating-notices": {"integrity-flagged", "tournament-seeded", "player-inactive", "policy-changed"},
    "match-events.dlq": {"dead-letter"},
    "verdict-events.dlq": {"dead-letter"},
    "tournament-events.dlq": {"dead-letter"},
}


@pytest.fixture
def document() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    loaded: dict[str, Any] = yaml.safe_load((schema_folder() / "asyncapi.yaml").read_text())
    return loaded


def resolve(document: Any, reference: str) -> Any:
    if not reference.startswith("#/"):
        return json.loads((schema_folder() / reference).read_bytes())
    for key in reference[2:].split("/"):
        document = document[key]
    return document


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    """Inside the document or to a schema file, and from an operation to a message of its own channel."""

    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            found = [part["$ref"]] if "$ref" in part else []
            return found + [ref for value in part.values() for ref in references(value)]
        return [ref for value in part for ref in references(value)] if isinstance(part, list) else []

    found = references(document)
    assert {f"./{name}.json" for name in FILES} <= set(found)
    for reference in found:
        assert resolve(document, reference)
    for operation in document["operations"].values():
        prefix = operation["channel"]["$ref"] + "/messages/"
        assert all(message["$ref"].startswith(prefix) for message in operation.get("messages", []))


def test_the_structure_is_of_version_3(document: dict[str, Any]) -> None:
    """The parts that the specification requires are there, with its words."""
    assert document["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= set(document["info"])
    assert set(document) <= {
        "asyncapi",
        "id",
        "info",
        "servers",
        "defaultContentType",
        "channels",
        "operations",
        "components",
    }
    for operation in document["operations"].values():
        assert operation["action"] in {"send", "receive"}


def test_each_channel_is_a_topic_with_keys(document: dict[str, Any]) -> None:
    """Kafka bindings name the topic and say what the key of each message is, with their version."""
    assert {channel["address"] for channel in document["channels"].values()} == set(CHANNELS)
    for channel in document["channels"].values():
        assert channel["bindings"]["kafka"]["topic"] == channel["address"]
        assert channel["bindings"]["kafka"]["bindingVersion"] == "0.5.0"
        messages = [resolve(document, message["$ref"]) for message in channel["messages"].values()]
        assert {short(message) for message in messages} == CHANNELS[channel["address"]]
        for message in messages:
            bindings = message["bindings"]
            binding = (resolve(document, bindings["$ref"]) if "$ref" in bindings else bindings)["kafka"]
            assert binding["key"]["description"]
            assert binding["bindingVersion"] == "0.5.0"


def test_the_worker_does_something_with_every_channel(document: dict[str, Any]) -> None:
    """It reads what comes in and writes what goes out, and all messages of a channel are spoken of."""
    spoken: dict[str, set[str]] = {}
    for operation in document["operations"].values():
        channel = resolve(document, operation["channel"]["$ref"])
        taken = {message["$ref"].rpartition("/")[2] for message in operation.get("messages", [])}
        spoken.setdefault(channel["address"], set()).update(taken or channel["messages"])
        incoming = channel["address"] in {"match-events", "verdict-events", "tournament-events"}
        assert operation["action"] == ("receive" if incoming else "send")
    assert spoken == {channel["address"]: set(channel["messages"]) for channel in document["channels"].values()}


@pytest.mark.parametrize("ce_type", [*INCOMING, *OUTGOING], ids=name_of)
def test_types_and_headers_are_those_of_the_code(document: dict[str, Any], ce_type: str) -> None:
    """Names, types and schemas of the messages are what the worker reads and writes."""
    (message,) = (message for message in document["components"]["messages"].values() if message["name"] == ce_type)
    assert message["headers"]["properties"]["ce_type"]["const"] == ce_type
    assert message["payload"]["schema"]["$ref"] == f"./{name_of(ce_type)}.json"
    assert "2020-12" in message["payload"]["schemaFormat"]
    (trait,) = (resolve(document, trait["$ref"]) for trait in message["traits"])
    required = trait["headers"].get("required", [])
    names = {"ce_specversion", "ce_id", "ce_source", "ce_time", "ce_subject", "content-type"}
    assert set(trait["headers"]["properties"]) == {*names, "traceparent"}
    assert set(required) == ({*names, "ce_type"} if ce_type in OUTGOING else set())


def short(message: dict[str, Any]) -> str:
    """Return the name of a message without its version."""
    name: str = message["name"]
    return name_of(name) if "." in name else name
