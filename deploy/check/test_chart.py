"""The chart renders, in each way that it can be set, to what Kubernetes and its operators take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from deploy.check.chart import RELEASE, VALUES, ChartError, helm, one, pods, prepare, render, validate
from deploy.helm.made import CHART, DEPLOY
from worker.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

KUBERNETES = ("1.29.0", "1.37.0")  # the oldest that the chart allows, and the newest that the schemas know
DEFAULT, EVERYTHING, MINIMAL, OAUTH = VALUES
EACH = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
_DIGEST = "sha256:" + "0" * 64


@pytest.fixture(scope="module", params=KUBERNETES)
def schemas(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the schemas of a version of Kubernetes, and that version."""
    folder = tmp_path_factory.mktemp("schemas")
    prepare(folder, request.param)
    return folder, request.param


@EACH
def test_helm_lint(values: Path) -> None:
    """Helm's linter has nothing to say."""
    helm("lint", "--strict", "--quiet", str(CHART), "--values", str(values))


@EACH
def test_schemas(values: Path, schemas: tuple[Path, str]) -> None:
    """Every resource meets the published schema of its kind, in the oldest and in the newest Kubernetes."""
    folder, kubernetes = schemas
    validate(render(values, kubernetes=kubernetes), folder, kubernetes)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("StatefulSet", "spec"),
        ("PodDisruptionBudget", "spec"),
        ("NetworkPolicy", "spec"),
        ("ServiceMonitor", "spec"),
        ("PrometheusRule", "spec"),
        ("ScaledObject", "spec"),
        ("TriggerAuthentication", "spec"),
    ],
)
def test_schemas_find_a_misspelt_field(kind: str, path: str, schemas: tuple[Path, str]) -> None:
    """The validator is strict for Kubernetes' own kinds and for the custom ones."""
    folder, kubernetes = schemas
    resource = one(render(EVERYTHING, kubernetes=kubernetes), kind)
    resource[path]["misspelt"] = 1
    with pytest.raises(ChartError, match="misspelt"):
        validate([resource], folder, kubernetes)


def test_it_can_be_packed(tmp_path: Path) -> None:
    """`helm package` makes the file that a repository of charts would serve."""
    helm("package", str(CHART), "--destination", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["rating-worker-0.1.0.tgz"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["settings.RATING_BATCH_MAX_RECORD=5"], "RATING_BATCH_MAX_RECORD"),
        (["settings.RATING_BATCH_MAX_RECORDS=20001"], "maximum"),
        (["settings.RATING_DATABASE_URL=postgresql://a:b@c/d"], "RATING_DATABASE_URL"),
        (["settings.RATING_INSTANCE_ID=me"], "RATING_INSTANCE_ID"),
        (["settings.RATING_LOG_LEVEL=loud"], "RATING_LOG_LEVEL"),
        (["secrets.RATING_MATCH_TOPIC.secretName=a", "secrets.RATING_MATCH_TOPIC.key=b"], "RATING_MATCH_TOPIC"),
        (["files.RATING_KAFKA_CA_FILE.key=b"], "RATING_KAFKA_CA_FILE"),
        (["replica=3"], "replica"),
        (["image.digest=latest"], "digest"),
        (["terminationGracePeriodSeconds=25"], "above RATING_SHUTDOWN_TIMEOUT_S, which is 25"),
        (["settings.RATING_SHUTDOWN_TIMEOUT_S=40"], "above RATING_SHUTDOWN_TIMEOUT_S, which is 40"),
        (["keda.enabled=true", "keda.maxReplicas=13"], "topics.partitions at most, which is 12"),
        (["keda.enabled=true", "keda.minReplicas=13"], "keda.maxReplicas at most"),
        (["settings.RATING_KAFKA_BOOTSTRAP=kafka:9093"], "does not allow 9093"),
        (["policyFiles.keys={club.toml}"], "needs policyFiles.configMapName"),
        (
            [
                "keda.enabled=true",
                "settings.RATING_KAFKA_SECURITY_PROTOCOL=SASL_SSL",
                "settings.RATING_KAFKA_SASL_MECHANISM=PLAIN",
            ],
            "keda.authentication.username",
        ),
    ],
)
def test_values_that_cannot_work_are_refused(arguments: list[str], says: str) -> None:
    """What would go wrong in a cluster is refused before it gets there, and the message names it."""
    with pytest.raises(ChartError, match=says):
        render(DEFAULT, *(word for argument in arguments for word in ("--set", argument)))


def test_the_grace_period_is_compared_with_the_default_of_the_code() -> None:
    """The chart's idea of the worker's shutdown timeout is the worker's."""
    default = Settings.model_fields["shutdown_timeout_s"].default
    with pytest.raises(ChartError, match="terminationGracePeriodSeconds"):
        render(DEFAULT, "--set", f"terminationGracePeriodSeconds={default:.0f}")
    render(DEFAULT, "--set", f"terminationGracePeriodSeconds={default + 1:.0f}")


@EACH
def test_selectors_find_the_workers_alone(values: Path) -> None:
    """Service, budget and spread select the workers' pods and no job's; the policy selects every pod."""
    resources = render(values)
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(resources)}
    workers = {name for name in labels if name.startswith("StatefulSet")}
    stateful = one(resources, "StatefulSet")["spec"]
    spread = stateful["template"]["spec"].get("topologySpreadConstraints", [])
    selectors = [stateful["selector"]["matchLabels"], one(resources, "Service")["spec"]["selector"]]
    selectors += [each["labelSelector"]["matchLabels"] for each in spread]
    selectors += [
        each["spec"]["selector"]["matchLabels"] for each in resources if each["kind"] == "PodDisruptionBudget"
    ]
    for selector in selectors:
        assert {name for name, own in labels.items() if selector.items() <= own.items()} == workers
    for policy in (each for each in resources if each["kind"] == "NetworkPolicy"):
        wanted = policy["spec"]["podSelector"]["matchLabels"]
        assert all(wanted.items() <= own.items() for own in labels.values())


@EACH
def test_pods_meet_the_restricted_standard(values: Path) -> None:
    """The Pod Security Standard "restricted", field by field; no token, and no root that can be written to."""
    for name, pod in pods(render(values)):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        allowed = {"configMap", "projected", "secret"}
        assert all(volume.keys() - {"name"} <= allowed for volume in spec["volumes"]), name
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            assert own["readOnlyRootFilesystem"] is True, name
            assert not own.get("privileged"), name
            assert "requests" in container["resources"], name
            assert not any("hostPort" in port for port in container.get("ports", ())), name


@EACH
def test_hooks_need_nothing_that_the_chart_installs(values: Path) -> None:
    """A job before the installation can't use the chart's ServiceAccount or ConfigMaps: they are not there yet."""
    resources = render(values)
    theirs = {each["metadata"]["name"] for each in resources if each["kind"] in {"ServiceAccount", "ConfigMap"}}
    for job in (each for each in resources if each["kind"] == "Job"):
        assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
        assert job["spec"]["template"]["spec"].get("serviceAccountName") not in theirs
        names = json.dumps(job["spec"]["template"]["spec"]["volumes"])
        assert not [name for name in theirs if f'"{name}"' in names]


def test_who_asks_and_who_answers() -> None:
    """Probes, Service, ServiceMonitor and policy mean one port."""
    resources = render(EVERYTHING, "--set", "httpPort=9500")
    container = one(resources, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "RATING_HTTP_PORT", "value": "9500"} in container["env"]
    assert {"name": "RATING_HTTP_HOST", "value": "0.0.0.0"} in container["env"]  # noqa: S104 - within the pod
    assert container["ports"] == [{"name": "http", "containerPort": 9500, "protocol": "TCP"}]
    for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "http"}
    service = one(resources, "Service")
    assert service["spec"]["ports"] == [{"name": "http", "port": 9500, "targetPort": "http", "protocol": "TCP"}]
    monitor = one(resources, "ServiceMonitor")["spec"]
    assert monitor["endpoints"] == [{"port": "http", "path": "/metrics", "interval": "15s"}]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert _open(render(DEFAULT)) == [[53, 53], [9092], [5432]]
    policy = one(resources, "NetworkPolicy")["spec"]
    assert [rule["ports"] for rule in policy["ingress"]] == [[{"port": 9500, "protocol": "TCP"}]]
    assert _open(resources) == [[53, 53], [9093], [5432], [4318], [443]]


def test_rules_and_dashboards_are_those_of_the_repository() -> None:
    """What Prometheus and Grafana get through the chart is what is tested elsewhere, to the letter."""
    resources = render(EVERYTHING)
    rules = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text(encoding="utf-8"))
    assert one(resources, "PrometheusRule")["spec"] == rules
    shown = {name: text for each in resources if each["kind"] == "ConfigMap" for name, text in each["data"].items()}
    kept = {path.name: path.read_text(encoding="utf-8") for path in (DEPLOY / "grafana").glob("*.json")}
    assert {name: json.loads(text) for name, text in shown.items()} == {
        name: json.loads(text) for name, text in kept.items()
    }
    assert all(
        each["metadata"]["labels"]["grafana_dashboard"] == "1" for each in resources if each["kind"] == "ConfigMap"
    )


def test_keda_looks_at_what_the_worker_reads() -> None:
    """Brokers, group and topic of the scaler are the worker's, given or by default, and so is where it starts."""
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    scaled = one(render(DEFAULT, "--set", "keda.enabled=true"), "ScaledObject")["spec"]
    assert scaled["triggers"][0]["metadata"] == {
        "bootstrapServers": "kafka:9092",
        "consumerGroup": defaults["consumer_group"],
        "topic": defaults["match_topic"],
        "lagThreshold": "5000",
        "offsetResetPolicy": "earliest",
        "allowIdleConsumers": "false",
    }
    assert "authenticationRef" not in scaled["triggers"][0]
    resources = render(EVERYTHING)
    stateful, scaled = one(resources, "StatefulSet"), one(resources, "ScaledObject")["spec"]
    assert "replicas" not in stateful["spec"], "KEDA decides how many"
    assert scaled["scaleTargetRef"]["name"] == stateful["metadata"]["name"]
    trigger = scaled["triggers"][0]
    assert (
        trigger["metadata"].items()
        >= {
            "consumerGroup": "chess-ratings",
            "topic": "chess-matches",
            "tls": "enable",
            "sasl": "scram_sha512",
        }.items()
    )
    login = one(resources, "TriggerAuthentication")
    assert trigger["authenticationRef"]["name"] == login["metadata"]["name"]
    assert {each["parameter"] for each in login["spec"]["secretTargetRef"]} == {"username", "password", "ca"}


def test_keda_logs_in_by_token() -> None:
    """Where the worker logs in by a token, the scaler is told how to get one of its own."""
    resources = render(OAUTH)
    trigger = one(resources, "ScaledObject")["spec"]["triggers"][0]
    assert trigger["metadata"].items() >= {"sasl": "oauthbearer", "tls": "enable"}.items()
    parameters = [each["parameter"] for each in one(resources, "TriggerAuthentication")["spec"]["secretTargetRef"]]
    assert parameters == ["oauthTokenEndpointUri", "password", "username"]


def test_a_digest_wins_over_the_tag() -> None:
    """What runs is named by what it is, where that is given; otherwise by the chart's version."""
    assert _image() == "rating-worker:0.1.0"
    assert _image("--set", "image.tag=next") == "rating-worker:next"
    assert _image("--set", "image.tag=next", "--set", f"image.digest={_DIGEST}") == f"rating-worker@{_DIGEST}"


def test_no_secret_is_in_what_is_rendered() -> None:
    """Secrets are named and mounted, never written out, and no Secret is made."""
    resources = render(EVERYTHING)
    assert not [each for each in resources if each["kind"] == "Secret"]
    for _, pod in pods(resources):
        environment: list[dict[str, Any]] = pod["spec"]["containers"][0]["env"]
        assert not [each for each in environment if "secretKeyRef" in json.dumps(each)]
        assert not [each for each in environment if "PASSWORD" in each["name"] or "DATABASE" in each["name"]]


def _open(resources: list[dict[str, Any]]) -> list[list[int]]:
    egress = one(resources, "NetworkPolicy")["spec"]["egress"]
    return [[port["port"] for port in rule["ports"]] for rule in egress]


def _image(*arguments: str) -> str:
    stateful = one(render(DEFAULT, *arguments), "StatefulSet", RELEASE + "-rating-worker")
    return str(stateful["spec"]["template"]["spec"]["containers"][0]["image"])
