from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.unit.events.samples import decode, raw
from worker.events import BadEventError, Reject, load_schema, schema_folder, validator
from worker.rating.model import Reason

SCHEMAS = Path(__file__).parents[3] / "schemas"
NAMES = ["match-finished", "rating-changed", "dead-letter-headers"]
VALID = sorted(SCHEMAS.glob("examples/*/valid/*.json"))
INVALID = sorted(SCHEMAS.glob("examples/*/invalid/*.json"))


def name_of(path: Path) -> str:
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


def test_the_schemas_agree_on_ids_and_pools() -> None:
    """Each file stands alone, so what they share is written twice and must stay the same."""
    one, two = load_schema("match-finished")["$defs"], load_schema("rating-changed")["$defs"]
    assert one["id"] == two["id"]
    assert one["pool"] == two["pool"]


def test_output_is_closed_and_input_is_open() -> None:
    """Backends may add fields, the worker may not; and no output field is optional."""
    out = load_schema("rating-changed")
    assert set(out["required"]) == set(out["properties"])
    for part in (out, out["$defs"]["factor"], out["$defs"]["policy"]):
        assert part["additionalProperties"] is False
    assert "additionalProperties" not in json.dumps(load_schema("match-finished"))


def test_the_schemas_list_what_the_code_can_say() -> None:
    """A reason added in code must be added to the contract too."""
    assert load_schema("dead-letter-headers")["properties"]["dlq.reason"]["enum"] == list(Reject)
    assert load_schema("rating-changed")["properties"]["reason"]["enum"] == list(Reason)


@pytest.mark.parametrize("path", VALID, ids=name_of)
def test_a_valid_example_is_valid(path: Path) -> None:
    """Each fits its schema, and the worker takes each that is meant for it."""
    event = load(path)
    validator(path.parts[-3]).validate(event)
    if path.parts[-3] == "match-finished":
        assert decode(raw(event)).match.match_id == event["match_id"]


@pytest.mark.parametrize("path", [path for path in INVALID if path.parts[-3] == "match-finished"], ids=name_of)
def test_an_invalid_match_fails_for_its_reason(path: Path) -> None:
    """The worker gives the stated reason, and the schema alone finds what the example says that it finds."""
    example = load(path)
    assert validator("match-finished").is_valid(example["event"]) == (example["found_by"] == "worker")
    with pytest.raises(BadEventError) as caught:
        decode(raw(example["event"]))
    assert caught.value.reason == example["reason"]


@pytest.mark.parametrize("path", [path for path in INVALID if path.parts[-3] != "match-finished"], ids=name_of)
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
