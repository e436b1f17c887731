"""Reading policies: the files that ship with the worker, and an operator's own beside them.

One file is one version of one policy, so that a diff of two files is the change of the rules. `pools.toml` says which
policy rates which pool.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from worker.policies.faults import faults_of
from worker.rating.errors import PolicyError
from worker.rating.policy import Policy
from worker.rating.policy_set import PolicySet, pool_faults, version_faults
from worker.rating.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

POOLS_FILE = "pools.toml"

Model = TypeVar("Model", bound=BaseModel)


class Pools(Rule):
    """A pools file: pool patterns and the names of their policies, in the order in which they are tried."""

    pools: dict[Annotated[str, Field(min_length=1, max_length=128)], str]


def load_policies(pools_file: Path | None = None, extra: Sequence[Path] = ()) -> PolicySet:
    """Read the shipped policies and those of an operator.

    Args:
        pools_file: Takes the place of the shipped `pools.toml`.
        extra: More policy files, or folders of which every `*.toml` is one (but for `pools_file`).

    Raises:
        PolicyError: With every fault of every file.
    """
    faults: list[str] = []
    policies: dict[tuple[str, int], tuple[Policy, str]] = {}
    for source in (*_shipped(), *_operators(extra, pools_file)):
        try:
            policy = _read(Policy, source)
        except PolicyError as error:
            faults += error.faults
            continue
        known, known_source = policies.setdefault((policy.name, policy.version), (policy, str(source)))
        if known.digest != policy.digest:
            faults.append(f"{source}: version = {policy.version}: {known_source} has it with different content")
    sources = {key: source for key, (_, source) in policies.items()}
    versions = [policy for policy, _ in policies.values()]
    faults += [f"{sources[policy.name, policy.version]}: {fault}" for policy, fault in version_faults(versions)]
    pools_source = pools_file or files("worker.policies") / POOLS_FILE
    try:
        pools = _read(Pools, pools_source).pools
    except PolicyError as error:
        raise PolicyError([*faults, *error.faults]) from error
    if not faults:  # else a policy that is there but could not be read would be called unknown as well
        faults += [f"{pools_source}: {fault}" for fault in pool_faults(pools, (policy.name for policy in versions))]
    if faults:
        raise PolicyError(faults)
    return PolicySet(versions, pools)


def load_policy_file(path: Path) -> Policy:
    """Read one policy file.

    Raises:
        PolicyError: With every fault of the file.
    """
    return _read(Policy, path)


def _shipped() -> list[Traversable]:
    folder = files("worker.policies")
    return [file for file in folder.iterdir() if file.name.endswith(".toml") and file.name != POOLS_FILE]


def _operators(paths: Sequence[Path], pools_file: Path | None) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (file for file in sorted(path.glob("*.toml")) if file != pools_file)
        else:
            yield path


def _read(model: type[Model], source: Traversable | Path) -> Model:
    try:
        content = tomllib.loads(source.read_text("utf-8"))
        return model.model_validate(content)
    except OSError as error:
        raise PolicyError([f"{source}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PolicyError([f"{source}: is not UTF-8: {error.reason} at byte {error.start}"]) from error
    except tomllib.TOMLDecodeError as error:
        raise PolicyError([f"{source}: is not TOML: {error}"]) from error
    except ValidationError as error:
        raise PolicyError([f"{source}: {fault}" for fault in faults_of(error, model)]) from error
