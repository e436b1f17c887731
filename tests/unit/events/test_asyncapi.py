from __future__ import annotations

import json
from typing import Any

import pytest

from worker.events import MATCH_FINISHED, RATING_CHANGED, schema_folder

FILES = ["match-finished", "rating-changed", "dead-letter-headers"]


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
        assert all(message["$ref"].startswith(prefix) for message in operation["messages"])


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
    addresses = {channel["address"] for channel in document["channels"].values()}
    assert addresses == {"match-events", "rating-events", "match-events.dlq"}
    for channel in document["channels"].values():
        assert channel["bindings"]["kafka"]["topic"] == channel["address"]
        assert channel["bindings"]["kafka"]["bindingVersion"] == "0.5.0"
        for message in channel["messages"].values():
            binding = resolve(document, message["$ref"])["bindings"]["kafka"]
            assert binding["key"]["description"]
            assert binding["bindingVersion"] == "0.5.0"


def test_types_and_headers_are_those_of_the_code(document: dict[str, Any]) -> None:
    """Names, types and schemas of the messages are what the worker reads and writes."""
    messages = document["components"]["messages"]
    for key, ce_type, schema in (
        ("matchFinished", MATCH_FINISHED, "./match-finished.json"),
        ("ratingChanged", RATING_CHANGED, "./rating-changed.json"),
    ):
        assert messages[key]["name"] == ce_type
        assert messages[key]["headers"]["properties"]["ce_type"]["const"] == ce_type
        assert messages[key]["payload"]["schema"]["$ref"] == schema
        assert "2020-12" in messages[key]["payload"]["schemaFormat"]
