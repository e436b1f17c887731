"""The schema of the chart's values: what is the chart's own, and the settings as the worker's code has them."""

from __future__ import annotations

from typing import Any

from worker.settings import Settings
from worker.settings.text import secret_fields, variable

_FILE = "file-path"
# What the chart sets by itself, each from a value of another name.
CHARTS_OWN = ("instance_id", "static_membership", "http_host", "http_port")

_KEPT = ("type", "pattern", "minLength", "maxLength", "minimum", "maximum", "anyOf")

_TEXT = {"type": "string"}
_NAME = {"type": "string", "maxLength": 253, "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"}
_FLAG = {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}
_SOME = {"type": "integer", "minimum": 1}
_PORT = {"type": "integer", "minimum": 1, "maximum": 65_535}
_ANY = {"type": "object"}
_LIST = {"type": "array", "items": _ANY}
_WORDS = {"type": "object", "additionalProperties": _TEXT}


def values_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7, which each Helm knows) of `values.yaml`; what it doesn't name is refused."""
    key = {"$ref": "#/definitions/keyOfSecret"}
    probe = _of(periodSeconds=_SOME, timeoutSeconds=_SOME, failureThreshold=_SOME, initialDelaySeconds=_COUNT)
    path = _of(path={"type": "string", "pattern": "^/."}) | {"required": ["path"]}
    definitions = {
        "keyOfSecret": _key_of("secretName"),
        "file": {"anyOf": [_key_of("secretName"), _key_of("configMapName"), path]},
    }
    return {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": definitions} | _of(
        image=_of(
            repository=_filled(_TEXT),
            tag=_TEXT,
            digest={"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            pullPolicy={"enum": ["Always", "IfNotPresent", "Never"]},
        ),
        imagePullSecrets=_LIST,
        nameOverride=_NAME,
        fullnameOverride=_NAME,
        replicas=_COUNT,
        settings=_settings(),
        secrets=_secrets(key),
        files=_files(),
        policyFiles=_of(configMapName=_NAME, keys={"type": "array", "items": _filled(_TEXT), "uniqueItems": True}),
        staticMembership=_FLAG,
        instancePrefix={"type": "string", "pattern": "^[a-zA-Z0-9._-]{0,100}$"},
        httpPort=_PORT,
        migration=_of(
            enabled=_FLAG,
            databaseUrl=key,
            grantWorker=_TEXT,
            grantReader=_TEXT,
            activeDeadlineSeconds=_SOME,
            backoffLimit=_COUNT,
        ),
        hooks=_of(serviceAccountName=_NAME),
        topics=_of(create=_FLAG, partitions=_SOME, replicas=_SOME),
        resources=_ANY,
        terminationGracePeriodSeconds=_SOME,
        probes=_of(startup=probe, liveness=probe, readiness=probe),
        podDisruptionBudget=_of(
            enabled=_FLAG, maxUnavailable={"anyOf": [_SOME, {"type": "string", "pattern": "^[0-9]+%$"}]}
        ),
        topologySpread=_of(enabled=_FLAG, whenUnsatisfiable={"enum": ["ScheduleAnyway", "DoNotSchedule"]}),
        serviceAccount=_of(create=_FLAG, name=_NAME, annotations=_WORDS),
        networkPolicy=_network_policy(),
        serviceMonitor=_of(enabled=_FLAG, interval={"type": "string", "pattern": "^[0-9]+(ms|s|m)$"}, labels=_WORDS),
        prometheusRule=_of(enabled=_FLAG, labels=_WORDS),
        dashboards=_of(enabled=_FLAG, labels=_WORDS, annotations=_WORDS),
        keda=_of(
            enabled=_FLAG,
            minReplicas=_SOME,
            maxReplicas=_SOME,
            lagThreshold=_SOME,
            pollingInterval=_SOME,
            scaleDown=_of(stabilizationSeconds=_COUNT, pods=_SOME, periodSeconds=_SOME),
            authentication={"type": "object", "additionalProperties": key},
            trigger=_WORDS,
        ),
        podLabels=_WORDS,
        podAnnotations=_WORDS,
        podSecurityContext=_ANY,
        securityContext=_ANY,
        priorityClassName=_NAME,
        nodeSelector=_WORDS,
        tolerations=_LIST,
        affinity=_ANY,
        extraVolumes=_LIST,
        extraVolumeMounts=_LIST,
        **{"global": _ANY},  # which Helm adds to a chart that is part of another
    )


def _settings() -> dict[str, Any]:
    """Every setting that is given by its value."""
    schema = Settings.model_json_schema()
    hidden = {*secret_fields(Settings), *CHARTS_OWN}
    shown = {
        variable(field): _shape(schema, shape)
        for field, shape in schema["properties"].items()
        if field not in hidden and not _is_file(shape)
    }
    return _of(**shown) | {"required": ["RATING_KAFKA_BOOTSTRAP"]}


def _secrets(key: dict[str, Any]) -> dict[str, Any]:
    """Every setting that nobody may see."""
    return _of(**{variable(field): key for field in secret_fields(Settings)}) | {"required": ["RATING_DATABASE_URL"]}


def _files() -> dict[str, Any]:
    """Every setting that names one file."""
    shapes = Settings.model_json_schema()["properties"]
    one = [field for field, shape in shapes.items() if _is_file(shape) and shape.get("type") != "array"]
    return _of(**{variable(field): {"$ref": "#/definitions/file"} for field in one})


def _key_of(kind: str) -> dict[str, Any]:
    return _of(**{kind: _filled(_NAME), "key": _filled(_TEXT)}) | {"required": [kind, "key"]}


def _network_policy() -> dict[str, Any]:
    peers = _of(ports={"type": "array", "items": _PORT, "minItems": 1}, to=_LIST)
    egress = _of(kafka=peers, postgres=peers, tracing=peers, dns=_of(to=_LIST), extra=_LIST)
    return _of(enabled=_FLAG, ingress=_of(**{"from": _LIST}), egress=egress)


def _shape(schema: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    """A setting's shape without what only pydantic knows, in its own words, and with the enumerations written out."""
    kept = {name: shape[name] for name in _KEPT if name in shape}
    if "$ref" in shape:
        kept = {"enum": schema["$defs"][shape["$ref"].rpartition("/")[2]]["enum"]}
    if "anyOf" in kept:  # one kind of value, or none
        kept = _shape(schema, next(kind for kind in kept["anyOf"] if kind.get("type") != "null"))
    if "description" in shape:
        kept["description"] = " ".join(shape["description"].split())
    return kept


def _is_file(shape: dict[str, Any]) -> bool:
    kinds = [shape.get("items", shape), *shape.get("anyOf", ())]
    return any(kind.get("format") == _FILE for kind in kinds)


def _of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _filled(shape: dict[str, Any]) -> dict[str, Any]:
    return shape | {"minLength": 1}
