"""The chart, rendered by Helm, and the published schemas that the result is held against."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import yaml

from deploy.check.tools import tool
from deploy.helm.made import CHART

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RELEASE = "ratings"
VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
_CUSTOM = Path(__file__).with_name("schemas")
_OWN = Path(kubernetes_validate.__file__).with_name("kubernetes-json-schema")


class ChartError(Exception):
    """Helm or kubeconform refuses; the message has what it says."""


def render(values: Path, *arguments: str, kubernetes: str = "1.37.0") -> list[dict[str, Any]]:
    """Render the chart with a file of values; its resources.

    Raises:
        ChartError: Helm refuses.
    """
    text = helm("template", RELEASE, str(CHART), "--values", str(values), "--kube-version", kubernetes, *arguments)
    return [document for document in yaml.safe_load_all(text) if document]


def helm(*arguments: str) -> str:
    """Run Helm; what it prints.

    Raises:
        ChartError: It ends with an error.
    """
    return _run([str(tool("helm")), *arguments])


def validate(resources: Sequence[Mapping[str, Any]], schemas: Path, kubernetes: str) -> None:
    """Hold resources against the schemas that `prepare` wrote for a version of Kubernetes, and against the custom ones.

    Raises:
        ChartError: One has no schema, or does not meet it.
    """
    file = schemas / "resources.yaml"
    file.write_text(yaml.safe_dump_all(resources), encoding="utf-8")
    _run(
        [
            str(tool("kubeconform")),
            "-strict",
            f"-kubernetes-version={kubernetes}",
            f"-schema-location={schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
            f"-schema-location={_CUSTOM}/{{{{.Group}}}}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json",
            str(file),
        ]
    )


def prepare(folder: Path, kubernetes: str) -> None:
    """Write the package's schemas of a version of Kubernetes in a way that needs no network.

    They name themselves, and each other, by addresses on the web, where kubeconform would look for them.
    """
    for path in (_OWN / f"v{kubernetes}-local-strict").glob("*.json"):
        schema = json.loads(path.read_text(encoding="utf-8").replace('"/api/_definitions.json', '"_definitions.json'))
        schema.pop("$id", None)
        (folder / path.name).write_text(json.dumps(schema), encoding="utf-8")


def one(resources: Sequence[dict[str, Any]], kind: str, ends: str = "") -> dict[str, Any]:
    """The one resource of a kind whose name ends so."""
    (found,) = (each for each in resources if each["kind"] == kind and each["metadata"]["name"].endswith(ends))
    return found


def pods(resources: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod that the resources make: kind and name, and the pod as metadata and spec."""
    for each in resources:
        if each["kind"] in {"StatefulSet", "Job"}:
            yield f"{each['kind']} {each['metadata']['name']}", each["spec"]["template"]
        elif each["kind"] == "Pod":
            yield f"Pod {each['metadata']['name']}", each


def _run(command: list[str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - built from a pinned version
    if ran.returncode:
        raise ChartError(f"{Path(command[0]).name}: {ran.stdout}{ran.stderr}")
    return ran.stdout
