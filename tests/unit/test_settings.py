from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry
from pydantic import ValidationError

from worker.ops.health import Health
from worker.ops.http import HttpServer
from worker.ops.metrics import Metrics
from worker.settings import (
    Delivery,
    LogLevel,
    Settings,
    SettingsError,
    load_settings,
    settings_table,
    unknown_variables,
)
from worker.settings.rules import RULES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("RATING_")]:
        monkeypatch.delenv(name)


def fault(**overrides: object) -> str:
    """Load with overrides that don't hold, and return the error's text."""
    with pytest.raises(SettingsError) as caught:
        load_settings(**overrides)
    return str(caught.value)


def test_defaults_hold_and_name_this_worker() -> None:
    """With nothing set the settings are valid, and each worker has an id of its own."""
    settings, other = load_settings(), load_settings()
    assert settings.delivery is Delivery.EXACTLY_ONCE
    assert settings.dead_letter_topic == "match-events.dlq"
    assert settings.transactional_id == f"rating-worker.{settings.instance_id}"
    assert settings.instance_id != other.instance_id
    assert str(os.getpid()) in settings.instance_id
    assert settings.heartbeat_interval_ms * 3 <= settings.session_timeout_ms
    assert settings.consumer_request_timeout_ms > settings.rebalance_timeout_ms


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is nobody's address")
async def test_http_is_for_this_machine_alone_unless_told() -> None:
    """By itself the worker listens on the loopback address only: nobody else reads its metrics, or learns of it."""
    assert load_settings().http_host == "127.0.0.1"
    for host, others_come_in in (("127.0.0.1", False), ("0.0.0.0", True)):  # noqa: S104 - this is what is tested
        settings = load_settings(http_host=host, http_port=0)
        server = HttpServer(settings.http_host, settings.http_port, Metrics(CollectorRegistry()), Health(1))
        async with server:
            try:
                _, writer = await asyncio.open_connection("127.0.0.2", server.port)
            except ConnectionRefusedError:
                assert not others_come_in
            else:
                writer.close()
                await writer.wait_closed()
                assert others_come_in


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Variables win over defaults, overrides over variables, and an empty variable counts as not set."""
    policies = [tmp_path / "a.toml", tmp_path / "b.toml"]
    for policy in policies:
        policy.touch()
    monkeypatch.setenv("RATING_MATCH_TOPIC", "games")
    monkeypatch.setenv("RATING_DELIVERY", "at-least-once")
    monkeypatch.setenv("RATING_LOG_LEVEL", "WARNING")
    monkeypatch.setenv("RATING_HTTP_PORT", "0")
    monkeypatch.setenv("RATING_PUBLISH_TIMEOUT_S", "12.5")
    monkeypatch.setenv("RATING_POLICY_FILES", f"{policies[0]}, {policies[1]},")
    monkeypatch.setenv("RATING_RATING_TOPIC", "")
    monkeypatch.setenv("RATING_BATCH_MAX_RECORDS", "10")
    settings = load_settings(batch_max_records=20)
    assert settings.dead_letter_topic == "games.dlq"
    assert settings.delivery is Delivery.AT_LEAST_ONCE
    assert settings.log_level is LogLevel.WARNING
    assert settings.http_port == 0
    assert settings.publish_timeout_s == 12.5
    assert settings.policy_files == tuple(policies)
    assert settings.rating_topic == "rating-events"
    assert settings.batch_max_records == 20


def test_frozen() -> None:
    """Settings don't change under a running worker."""
    with pytest.raises(ValidationError, match="frozen"):
        load_settings().http_port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("kafka_bootstrap", "localhost", "host:port, several separated by commas"),
        ("kafka_bootstrap", "a:1, b:2", "host:port, several separated by commas"),
        ("consumer_group", "two words", "1 to 249 of a-z A-Z 0-9 . _ -"),
        ("match_topic", "x" * 250, "1 to 249 of a-z A-Z 0-9 . _ -"),
        ("delivery", "at-most-once", "one of exactly-once, at-least-once"),
        ("batch_max_records", "0", "a whole number from 1 to 20000"),
        ("batch_max_records", "1.5", "a whole number from 1 to 20000"),
        ("batch_max_records", "many", "a whole number from 1 to 20000"),
        ("publish_timeout_s", "nan", "a number from 0.1 to 3600"),
        ("publish_timeout_s", "inf", "a number from 0.1 to 3600"),
        ("max_future_s", "-1", "a number from 0 to 31536000"),
        ("static_membership", "perhaps", "true or false"),
        ("http_host", "h" * 254, "text of 1 to 253 characters"),
        ("http_port", "65536", "a whole number from 0 to 65535"),
        ("log_format", "xml", "one of auto, json, console"),
        ("log_level", "loud", "one of debug, info, warning, error"),
        ("pools_file", "/no/such/file", "a file that exists"),
        ("kafka_security_protocol", "TLS", "one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("kafka_sasl_mechanism", "GSSAPI", "one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
        ("kafka_ca_file", "/no/such/file", "a file that exists"),
        ("kafka_sasl_user", "u" * 1001, "text of 1 to 1000 characters"),
        ("kafka_oauth_token_url", "http://id/", "an https:// URL without a login in it; http:// on this machine"),
        ("policy_files", "/no/such/file", "files that exist, separated by commas"),
    ],
)
def test_a_fault_names_variable_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, field: str, value: str, allowed: str
) -> None:
    """Each value out of bounds gives exactly one line, from which it can be put right."""
    monkeypatch.setenv(f"RATING_{field.upper()}", value)
    assert fault().splitlines()[1:] == [f"  - RATING_{field.upper()}={value}: allowed is {allowed}"]


@pytest.mark.parametrize("field", ["kafka_oauth_token_url", "kafka_bootstrap"])
def test_a_login_where_none_belongs_is_not_told(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    """A URL is refused for the login in it, and the password is in no message."""
    monkeypatch.setenv(f"RATING_{field.upper()}", "https://me:s3cret@id:1")
    assert f"RATING_{field.upper()}=(hidden): allowed is" in fault()
    assert "s3cret" not in fault()


def test_all_faults_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One start shows all that is wrong, not the first of it."""
    monkeypatch.setenv("RATING_HTTP_PORT", "x")
    monkeypatch.setenv("RATING_DELIVERY", "x")
    monkeypatch.setenv("RATING_MATCH_TOPC", "x")
    assert len(fault(match_topic="a b").splitlines()) == 5


SASL = {"kafka_security_protocol": "SASL_SSL"}
BROKEN: list[dict[str, Any]] = [
    {"session_timeout_ms": 60_000},
    {"idle_in_transaction_timeout_ms": 15_000},
    {"transaction_timeout_ms": 15_000},
    {"kafka_request_timeout_s": 15.1},
    {"lock_timeout_ms": 10_000},
    {"statement_timeout_ms": 40_000},
    {"progress_timeout_s": 30},
    {"shutdown_timeout_s": 15},
    {"rating_topic": "match-events"},
    {"static_membership": True},
    {"kafka_ca_file": __file__},
    {"kafka_security_protocol": "SSL", "kafka_key_file": __file__},
    {"kafka_security_protocol": "SASL_SSL"},
    SASL | {"kafka_sasl_mechanism": "PLAIN", "kafka_sasl_user": "u"},
    {"kafka_sasl_user": "u"},
    SASL | {"kafka_sasl_mechanism": "OAUTHBEARER"},
    SASL | {"kafka_sasl_mechanism": "OAUTHBEARER", "kafka_oauth_token_url": "https://id/token"},
    {"kafka_oauth_token_file": __file__},
    SASL | {"kafka_sasl_mechanism": "OAUTHBEARER", "kafka_oauth_token_file": __file__, "kafka_oauth_scope": "s"},
]


@pytest.mark.parametrize(("overrides", "rule"), list(zip(BROKEN, RULES, strict=True)))
def test_settings_must_fit_together(overrides: dict[str, Any], rule: Any) -> None:
    """Each rule between settings has a case that breaks it alone, and its message names all it is about."""
    [line] = fault(**overrides).splitlines()[1:]
    assert line.endswith(rule.text)
    for field in rule.fields:
        if overrides.get(field, Settings.model_fields[field].get_default()) is not None:
            assert f"RATING_{field.upper()}=" in line


def test_static_membership_works_with_an_id() -> None:
    """A stable id is all that static membership needs."""
    assert load_settings(static_membership=True, instance_id="rating-0").transactional_id == "rating-worker.rating-0"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("RATING_BATCH_MAX_RECORD", "RATING_BATCH_MAX_RECORDS"),
        ("RATING_DATABSE_URL", "RATING_DATABASE_URL"),
        ("RATING_DATABASE_URL_FIL", "RATING_DATABASE_URL_FILE"),
        ("RATING_SECRET_DIR", "RATING_SECRETS_DIR"),
        ("RATING_Match_topc", "RATING_MATCH_TOPIC"),
    ],
)
def test_a_misspelt_variable_is_found(monkeypatch: pytest.MonkeyPatch, name: str, meant: str) -> None:
    """A slip in a name is an error, not a default in force without a word."""
    monkeypatch.setenv(name, "1")
    assert f"{name} is no setting; did you mean {meant}?" in fault()


@pytest.mark.parametrize(
    "name",
    [
        "RATING_PORT",
        "RATING_SERVICE_HOST",
        "RATING_SERVICE_PORT_HTTP",
        "RATING_PORT_9464_TCP_ADDR",
        "RATING_WORKER_PORT",
        "RATING_WORKER_SERVICE_HOST",
        "RATING_WORKER_METRICS_PORT",
        "RATING_WORKER_PORT_9464_TCP_PROTO",
        "RATING_LOCAL_CACHE",
        "RATING_match_topic",
    ],
)
def test_foreign_variables_do_no_harm(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What Kubernetes sets for a service called `rating` or `rating-worker` stops no worker and alarms nobody."""
    monkeypatch.setenv(name, "tcp://10.0.0.1:9464" if name.isupper() else "games")
    load_settings()
    assert unknown_variables() == {}


def test_unknown_variables_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A variable or a file of secrets that is no setting stops nothing, and is named with the setting most like it."""
    monkeypatch.setenv("RATING_GROUP", "g")
    monkeypatch.setenv("RATING_METRICS_PORT", "9464")
    monkeypatch.setenv("RATING_XYZ", "1")
    (tmp_path / "rating_db_pass").write_text("s3cret", encoding="utf-8")
    (tmp_path / "tls.crt").touch()
    monkeypatch.setenv("RATING_SECRETS_DIR", str(tmp_path))
    load_settings()
    assert unknown_variables() == {
        "RATING_GROUP": "RATING_CONSUMER_GROUP",
        "RATING_METRICS_PORT": "RATING_HTTP_PORT",
        "RATING_XYZ": None,
        "rating_db_pass": None,
    }


def test_a_misspelt_file_of_secrets_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A slip in the name of a file is an error too, not a worker without its password."""
    (tmp_path / "rating_database_ulr").write_text("postgresql://u:s3cret@db/x", encoding="utf-8")
    monkeypatch.setenv("RATING_SECRETS_DIR", str(tmp_path))
    assert "rating_database_ulr is no setting; did you mean RATING_DATABASE_URL?" in fault()


def test_an_unknown_override_is_refused() -> None:
    """A wrong name in code is an error too."""
    assert "RATING_NO_SUCH_THING is no setting" in fault(no_such_thing=1)


def test_the_table_has_every_setting_with_default_and_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's table is made from the model: a row for each setting, with a meaning, nothing of this machine."""
    monkeypatch.setattr(os, "getpid", lambda: 987_654_321)  # a real one may be some default of the table
    monkeypatch.setattr(socket, "gethostname", lambda: "this-machine")
    assert "this-machine-987654321" in Settings().instance_id
    header, rule, *rows = settings_table().splitlines()
    assert header == "| Variable | Default | Allowed | Meaning |"
    assert set(rule) <= set("| -")
    assert len(rows) == len(Settings.model_fields)
    for row, field in zip(rows, Settings.model_fields, strict=True):
        variable, default, allowed, meaning = (cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1])
        assert variable == f"`RATING_{field.upper()}`"
        assert default or Settings.model_fields[field].default in {None, ()}
        assert allowed
        assert meaning.endswith(".")
    assert "| `RATING_STATIC_MEMBERSHIP` | `false` | true or false |" in settings_table()
    assert "`exactly-once`" in settings_table()
    assert "987654321" not in settings_table()
    assert "this-machine" not in settings_table()


def test_the_unit_is_in_the_name() -> None:
    """A setting that is a number says its unit, or what it counts."""
    for field, info in Settings.model_fields.items():
        if info.annotation in {int, float}:
            assert field.endswith(("_s", "_ms", "_bytes", "_records", "_size", "_port")), field
