from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.unit.events.documents import take, typed
from tests.unit.events.samples import decode, raw
from worker.events import (
    INCOMING,
    MATCH_FINISHED,
    OUTGOING,
    BadEventError,
    Reject,
    load_schema,
    name_of,
    schema_folder,
    validator,
)
from worker.rating.model import NoticeKind, Reason, SanctionKind

SCHEMAS = Path(__file__).parents[3] / "schemas"
TYPES = {name_of(ce_type): ce_type for ce_type in (*INCOMING, *OUTGOING)}
IN = [name_of(ce_type) for ce_type in INCOMING]
OUT = [name_of(ce_type) for ce_type in OUTGOING]
NAMES = [*TYPES, "dead-letter-headers"]
VALID = sorted(SCHEMAS.glob("examples/*/valid/*.json"))
INVALID = sorted(SCHEMAS.glob("examples/*/invalid/*.json"))


def label(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_a_schema(name: str) -> None:
    """Each is valid by the metaschema of draft 2020-12, and each field says what it is."""
    schema = load_schema(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)
    assert schema["title"] == name
    assert all("description" in field for field in schema["properties"].values())


def test_there_is_a_file_for_each_schema_and_no_other() -> None:
    """A schema that no code names would be a promise that nobody keeps."""
    assert {path.stem for path in SCHEMAS.glob("*.json")} == set(NAMES)
    assert {path.name for path in (SCHEMAS / "examples").iterdir()} == set(NAMES)


def test_the_schemas_agree_on_what_they_share() -> None:
    """Each file stands alone, so what they share is written more than once and must stay the same."""
    shared: dict[str, Any] = {}
    for name in TYPES:
        for part, schema in load_schema(name)["$defs"].items():
            assert shared.setdefault(part, schema) == schema
    assert {"id", "pool", "time", "utc", "why", "policy"} <= set(shared)


def objects(part: Any) -> list[dict[str, Any]]:
    """Return all objects in a schema that describe objects with fields of their own."""
    if isinstance(part, list):
        return [found for item in part for found in objects(item)]
    if not isinstance(part, dict):
        return []
    own = [part] if part.get("type") == "object" and "properties" in part else []
    return own + objects(list(part.values()))


@pytest.mark.parametrize("name", OUT)
def test_output_is_closed(name: str) -> None:
    """The worker adds no field that isn't in the contract, and no output field is optional."""
    found = objects(load_schema(name))
    assert found
    for part in found:
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])


@pytest.mark.parametrize("name", IN)
def test_input_is_open(name: str) -> None:
    """Backends may add fields."""
    assert "additionalProperties" not in json.dumps(load_schema(name))


def test_the_schemas_list_what_the_code_can_say() -> None:
    """A reason added in code must be added to the contract too."""
    assert load_schema("dead-letter-headers")["properties"]["dlq.reason"]["enum"] == list(Reject)
    assert load_schema("rating-changed")["properties"]["reason"]["enum"] == list(Reason)
    assert load_schema("player-sanctioned")["properties"]["kind"]["enum"] == list(SanctionKind)
    assert set(NoticeKind) | {"rating-changed"} == set(OUT)


@pytest.mark.parametrize("path", VALID, ids=label)
def test_a_valid_example_is_valid(path: Path) -> None:
    """Each fits its schema, and the worker takes each that is meant for it."""
    event, name = load(path), path.parts[-3]
    validator(name).validate(event)
    if name == "match-finished":
        assert decode(raw(event)).match.match_id == event["match_id"]
    if name in IN:
        assert take(raw(event), typed(TYPES[name]))
        assert "type" not in event or take(raw(event)) == take(raw(event), typed(TYPES[name]))


@pytest.mark.parametrize("path", [path for path in INVALID if path.parts[-3] in IN], ids=label)
def test_an_invalid_input_fails_for_its_reason(path: Path) -> None:
    """The worker gives the stated reason, and the schema alone finds what the example says that it finds."""
    example, name = load(path), path.parts[-3]
    assert validator(name).is_valid(example["event"]) == (example["found_by"] == "worker")
    with pytest.raises(BadEventError) as caught:
        take(raw(example["event"]), typed(TYPES[name]))
    assert caught.value.reason == example["reason"]
    if TYPES[name] == MATCH_FINISHED:
        with pytest.raises(BadEventError, match=re.escape(str(caught.value))):
            decode(raw(example["event"]))


@pytest.mark.parametrize("path", [path for path in INVALID if path.parts[-3] not in IN], ids=label)
def test_an_invalid_output_fails_for_its_reason(path: Path) -> None:
    """Exactly the stated keyword fails, at the stated place."""
    example = load(path)
    (error,) = validator(path.parts[-3]).iter_errors(example["event"])
    keys = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in error.instance_path]
    assert "$" + "".join(keys) == example["at"]
    assert error.kind.name == example["keyword"]


def test_there_are_examples_of_every_event() -> None:
    """Nobody has to guess what an event looks like."""
    for name in NAMES:
        assert list((SCHEMAS / "examples" / name / "valid").iterdir())
        assert list((SCHEMAS / "examples" / name / "invalid").iterdir())


def test_a_checkout_reads_the_schemas_beside_the_package() -> None:
    """No build step is needed to work on the code."""
    assert Path(str(schema_folder())) == SCHEMAS


def test_a_wheel_brings_the_schemas_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `worker/schemas` exists, it is what counts."""
    (tmp_path / "schemas").mkdir()
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    assert schema_folder() == tmp_path / "schemas"


def test_a_schema_that_does_not_exist_is_an_error() -> None:
    """A slip in a name must not become a validator of nothing."""
    with pytest.raises(FileNotFoundError):
        load_schema("match-begun")
