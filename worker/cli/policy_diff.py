"""What two versions of a policy have differently, key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAMES = ("name", "title")  # what the entries of a list are told apart by
_NOTES = "notes"


class Difference(NamedTuple):
    """One key with its values before and after; None where it is not set.

    The parts of a key are joined by dots: `inactivity.after_days`, `k_factor.elite.k`, `ladder.Master.lower`.
    """

    key: str
    before: Any
    after: Any


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Compare the rules of two versions, as data; in the order of their keys, those that are gone last."""
    old, new = dict(_flat("", before)), dict(_flat("", after))
    found = [Difference(key, old.get(key), new.get(key)) for key in {**new, **old} if old.get(key) != new.get(key)]
    return found + list(_notes(before.get(_NOTES) or (), after.get(_NOTES) or ()))


def _notes(before: Sequence[str], after: Sequence[str]) -> Iterator[Difference]:
    """Notes have no names: each is there or is not."""
    yield from (Difference(_NOTES, note, None) for note in before if note not in after)
    yield from (Difference(_NOTES, None, note) for note in after if note not in before)


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Give every single value below a place, with its key; what is not set is left out."""
    if value is None or path == _NOTES:
        return
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _flat(f"{path}.{key}" if path else key, part)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        labels = [_label(part, place) for place, part in enumerate(value, start=1)]
        for label, part in zip(labels, value, strict=True):
            yield from _flat(f"{path}.{label}", {key: one for key, one in part.items() if key not in _NAMES})
        yield f"{path}, in order", labels
    elif isinstance(value, list) and value and not isinstance(value[0], str):
        for place, part in enumerate(value, start=1):
            yield from _flat(f"{path}.{place}", part)
    else:
        yield path, value


def _label(entry: Mapping[str, Any], place: int) -> str:
    return next((str(entry[name]) for name in _NAMES if name in entry), str(place))
