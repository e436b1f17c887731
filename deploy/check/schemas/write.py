"""Write the schemas of custom resources; README.md beside this file says from what."""

import json
from pathlib import Path
from typing import Any

from cloudcoil.models.keda import v1alpha1
from cloudcoil.models.prometheus_operator import v1

_HERE = Path(__file__).parent
_MODELS = {
    "monitoring.coreos.com": (v1.ServiceMonitor, v1.PrometheusRule),
    "keda.sh": (v1alpha1.ScaledObject, v1alpha1.TriggerAuthentication),
}
_NULL = {"type": "null"}  # what pydantic lets an optional field be
_WORDS = {"title", "description", "default"}


def _closed(node: Any) -> Any:
    """Without words and nulls, and with nothing allowed in an object that it doesn't name."""
    if isinstance(node, list):
        return [_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {name: _closed(value) for name, value in node.items() if name not in _WORDS or isinstance(value, dict)}
    if "anyOf" in kept:
        kinds = [kind for kind in kept.pop("anyOf") if kind != _NULL]
        kept |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if kept.get("properties") and kept.get("type") == "object":
        kept.setdefault("additionalProperties", False)
    return kept


for group, models in _MODELS.items():
    for model in models:
        version = "v1" if group.startswith("monitoring") else "v1alpha1"
        path = _HERE / group / f"{model.__name__.lower()}_{version}.json"
        path.parent.mkdir(exist_ok=True)
        schema = _closed(model.model_json_schema())
        schema["required"] = ["apiVersion", "kind", "metadata", *schema["required"]]
        path.write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")
