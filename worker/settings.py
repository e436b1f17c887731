"""Settings from the environment: `RATING_<FIELD NAME>`, each with its unit in the name, bounds and a description.

`load_settings` is the way in for the program, `Settings(...)` with keyword arguments the one for tests. Where a value
comes from, first hit wins: keyword argument, environment variable, the file that `RATING_<SECRET>_FILE` names (secrets
only), a file named after the variable in the folder `RATING_SECRETS_DIR`, the default.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, FilePath, Secret, StringConstraints, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, NoDecode, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from worker.ops import settings_text
from worker.ops.settings_rules import broken_rules

SECRETS_DIR = "RATING_SECRETS_DIR"

# Stricter than what asyncpg takes, and what RFC 3986 says: with a raw @, / or ? in the password no one can say where it
# ends, so such a URL is refused rather than guessed at (and perhaps shown).
_WORD = r"[A-Za-z0-9._~!$&'()*+,;=%-]*"
_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._~%-]*)(?::\d+)?"
_DATABASE_URL = re.compile(
    rf"(?P<scheme>postgres(?:ql)?)://(?:(?P<user>{_WORD})(?P<password>:{_WORD})?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[A-Za-z0-9._~%-]*)?)(?:\?[^#@\s\"]*)?"
)


class SettingsError(Exception):
    """Unusable settings; the message names each variable at fault, its value (never a secret) and what is allowed."""


class Delivery(StrEnum):
    """How changes reach the rating topic: in one Kafka transaction with the offsets, or acknowledged before them."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class LogFormat(StrEnum):
    """JSON lines, readable console lines, or console when the output is a terminal and JSON otherwise."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The least severe level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @classmethod
    def _missing_(cls, value: object) -> LogLevel | None:
        # Everyone writes log levels in capitals somewhere.
        return next((level for level in cls if isinstance(value, str) and value.lower() == level.value), None)


class DatabaseUrl(Secret[str]):
    """A Postgres URL that shows host and database when printed, and never its user's password or its parameters."""

    def _display(self) -> str:
        match = _DATABASE_URL.fullmatch(self.get_secret_value())
        if not match:
            return "**********"
        user = "" if match["user"] is None else f"{match['user']}:***@" if match["password"] else f"{match['user']}@"
        return f"{match['scheme']}://{user}{match['place']}"


def _instance_id() -> str:
    host = re.sub(r"[^a-zA-Z0-9._-]", "-", socket.gethostname())
    return f"{host[:200]}-{os.getpid()}-{secrets.token_hex(4)}"


def _says(text: str, **shown: str) -> Any:
    """Describe in words what a field allows (and its default, where that is computed), for errors and the table."""
    return Field(json_schema_extra={"allowed": text, **shown})


_BROKER = r"(\[[0-9a-fA-F:.]+\]|[^\s,:\[\]]+):\d{1,5}"
_NAME = StringConstraints(pattern=r"^[a-zA-Z0-9._-]{1,249}$")
_NAME_TEXT = "1 to 249 of a-z A-Z 0-9 . _ -"
Name = Annotated[str, _NAME, _says(_NAME_TEXT)]
_BROKERS = StringConstraints(pattern=rf"^{_BROKER}(,{_BROKER})*$")
Brokers = Annotated[str, _BROKERS, _says("host:port, several separated by commas")]
Seconds = Annotated[float, Field(ge=0.1, le=3_600)]
Milliseconds = Annotated[int, Field(ge=1, le=900_000)]  # 900 s: what a broker allows a transaction by default


class Settings(BaseSettings):
    """All that an operator can set. Frozen; every field is checked alone, then the timeouts against each other.

    Raises:
        pydantic.ValidationError: When built directly from values that don't hold; `load_settings` makes it readable.
    """

    model_config = SettingsConfigDict(
        env_prefix=settings_text.PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )

    kafka_bootstrap: Brokers = "127.0.0.1:9092"
    """Kafka brokers to start from."""
    consumer_group: Name = "rating-worker"
    """Consumer group; all workers that share the work share it."""
    instance_id: Annotated[str, _NAME, _says(_NAME_TEXT, default="host-pid-random")] = Field(
        default_factory=_instance_id
    )
    """This worker's name in the group, unique among living workers; with the group it makes the transactional id."""
    static_membership: bool = False
    """Keep the place in the group over a restart; needs RATING_INSTANCE_ID to be set and stable."""
    match_topic: Name = "match-events"
    """Topic that matches are read from."""
    verdict_topic: Name = "verdict-events"
    """Topic that sanctions and their lifting are read from."""
    tournament_topic: Name = "tournament-events"
    """Topic that the life of tournaments is read from."""
    rating_topic: Name = "rating-events"
    """Topic that rating changes are published to."""
    notice_topic: Name = "rating-notices"
    """Topic that notices are published to: inactive players, seeds, integrity flags, changed policies."""
    dead_letter_topic: Annotated[str, _NAME, _says(_NAME_TEXT, default="RATING_MATCH_TOPIC.dlq")] = Field(
        default_factory=lambda data: f"{data['match_topic']}.dlq"
    )
    """Topic for matches and voids that can't be taken; those of other topics go to theirs, `<topic>.dlq`."""
    delivery: Delivery = Delivery.EXACTLY_ONCE
    """Delivery of changes; at-least-once for brokers or operators without transactions."""
    session_timeout_ms: Annotated[int, Field(ge=1_000, le=1_800_000)] = 10_000
    """A worker silent for so long is taken for dead by the group."""
    rebalance_timeout_ms: Milliseconds = 60_000
    """How long a rebalance waits for a worker to finish its batch."""
    transaction_timeout_ms: Milliseconds = 30_000
    """The broker aborts a Kafka transaction that is open for longer."""
    kafka_request_timeout_s: Seconds = 10.0
    """How long one request to a broker may take."""
    publish_timeout_s: Seconds = 15.0
    """How long flushing one batch's changes may take in all, retries included."""

    batch_max_records: Annotated[int, Field(ge=1, le=20_000)] = 2_000
    """The most records in one batch, that is in one database transaction."""
    batch_max_wait_ms: Annotated[int, Field(ge=1, le=60_000)] = 200
    """How long a poll waits for records when there are none."""
    max_event_bytes: Annotated[int, Field(ge=256, le=16_777_216)] = 65_536
    """A larger match event is dead-lettered undecoded."""
    max_future_s: Annotated[float, Field(ge=0, le=31_536_000)] = 86_400.0
    """A match that finished further in the future is dead-lettered."""
    retry_max_wait_s: Seconds = 5.0
    """Upper bound of the jittered wait between two tries."""

    database_url: Annotated[
        DatabaseUrl,
        _says("postgresql://user:password@host:port/database, special characters of user and password percent-encoded"),
    ] = DatabaseUrl("postgresql://rating@127.0.0.1:5432/rating")
    """Postgres to keep the ledger in. A secret: best given by RATING_DATABASE_URL_FILE or RATING_SECRETS_DIR."""
    database_pool_size: Annotated[int, Field(ge=2, le=64)] = 4
    """Connections to Postgres; one works on the batch, the others on claims and health."""
    database_acquire_timeout_s: Seconds = 5.0
    """How long to wait for a free connection, or for a new one to open."""
    statement_timeout_ms: Milliseconds = 10_000
    """Postgres cancels a statement that runs for longer."""
    lock_timeout_ms: Milliseconds = 5_000
    """Postgres gives up waiting for a row lock after so long."""
    idle_in_transaction_timeout_ms: Milliseconds = 20_000
    """Postgres ends a transaction that waits for the worker for longer, and with it the locks of a hung worker."""

    housekeeping_interval_s: Annotated[float, Field(ge=1, le=86_400)] = 30.0
    """How often housekeeping looks for work: inactive players, signals, changed policies; one worker does it."""

    http_host: Annotated[str, StringConstraints(min_length=1, max_length=253)] = "127.0.0.1"
    """Address of metrics and health; 0.0.0.0 or :: for all interfaces."""
    http_port: Annotated[int, Field(ge=0, le=65_535)] = 9464
    """Port of metrics and health; 0 takes a free one."""
    log_format: LogFormat = LogFormat.AUTO
    """Log lines; auto is console on a terminal and JSON elsewhere."""
    log_level: LogLevel = LogLevel.INFO
    """Least severe level of the worker's own log lines."""
    library_log_level: LogLevel = LogLevel.WARNING
    """Least severe level of the libraries' log lines (aiokafka, asyncpg, alembic)."""

    pools_file: Annotated[FilePath | None, _says("a file that exists")] = None
    """TOML file that names each pool's policy, in place of the built-in pools."""
    policy_files: Annotated[tuple[FilePath, ...], NoDecode, _says("files that exist, separated by commas")] = ()
    """TOML files of policies beside the built-in ones."""
    shutdown_timeout_s: Seconds = 25.0
    """After a stop signal the worker has so long to finish its batch; keep it below the orchestrator's grace period."""
    progress_timeout_s: Annotated[float, Field(ge=1, le=86_400)] = 120.0
    """The worker reports itself not live when its loop has not moved for so long."""

    @property
    def transactional_id(self) -> str:
        """The Kafka transactional id, which also is the owner written into partition claims."""
        return f"{self.consumer_group}.{self.instance_id}"

    @property
    def heartbeat_interval_ms(self) -> int:
        """A third of the session timeout, so that two lost heartbeats cost nothing."""
        return self.session_timeout_ms // 3

    @property
    def consumer_request_timeout_ms(self) -> int:
        """Request timeout for the consumer, in ms, longer than a rebalance.

        The broker answers JoinGroup only when the rebalance is over, and aiokafka has one timeout for every request: a
        shorter one would cut the connection each time another worker takes long to finish its batch.
        """
        return self.rebalance_timeout_ms + int(self.kafka_request_timeout_s * 1000)

    @property
    def input_topics(self) -> list[str]:
        """The topics that are read, those of matches first."""
        return [self.match_topic, self.verdict_topic, self.tournament_topic]

    @property
    def dead_letter_topics(self) -> dict[str, str]:
        """Where the records of each topic that is read go when they can't be taken."""
        return {name: f"{name}.dlq" for name in self.input_topics} | {self.match_topic: self.dead_letter_topic}

    @property
    def revocation_wait_s(self) -> float:
        """How long a rebalance may wait for the batch in hand, in seconds: the rest is for joining again."""
        return self.rebalance_timeout_ms / 2000

    @property
    def batch_bound_s(self) -> float:
        """About how long one batch may wait, in seconds: for a connection, a statement and the brokers."""
        return self.database_acquire_timeout_s + self.statement_timeout_ms / 1000 + self.publish_timeout_s

    @field_validator("policy_files", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("database_url")
    @classmethod
    def _postgres(cls, value: DatabaseUrl) -> DatabaseUrl:
        if not _DATABASE_URL.fullmatch(value.get_secret_value()):
            raise ValueError("not a Postgres URL")
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if faults := list(broken_rules(self)):
            raise ValueError("\n".join(faults))
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: Source,
        env_settings: Source,
        dotenv_settings: Source,  # noqa: ARG003 - no .env: what runs is what the environment says
        file_secret_settings: Source,
    ) -> tuple[Source, ...]:
        """Put the `*_FILE` variables between the environment and the folder of secrets."""
        files = InitSettingsSource(settings_cls, init_kwargs=_secrets_from_files())
        return init_settings, env_settings, files, file_secret_settings


def load_settings(**overrides: object) -> Settings:
    """Read the settings from the environment.

    Args:
        overrides: Values by field name that win over the environment, e.g. from command-line options.

    Raises:
        SettingsError: With a line for each fault: a value that is not allowed, timeouts that don't fit together, a
            secret file that can't be read, or a variable that looks like a misspelt setting.
    """
    faults = [
        f"{name} is no setting; did you mean {meant}?" for name, meant in settings_text.misspelt(os.environ, Settings)
    ]
    folder = os.environ.get(SECRETS_DIR) or None
    if folder and not Path(folder).is_dir():
        faults.append(f"{SECRETS_DIR}={folder}: allowed is a folder that exists")
        folder = None
    try:
        settings = Settings(_secrets_dir=folder, **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        faults += settings_text.explain(error, Settings)
    except SettingsError as error:
        faults.append(str(error))
    if faults:
        raise SettingsError("The settings can't be used:\n" + "\n".join(f"  - {fault}" for fault in faults)) from None
    return settings


def settings_table() -> str:
    """Render every setting as a Markdown table: variable, default, what is allowed, meaning."""
    return settings_text.table(Settings)


def _secrets_from_files() -> dict[str, str]:
    found = {}
    for field in settings_text.secret_fields(Settings):
        name = settings_text.variable(field)
        file = os.environ.get(f"{name}_FILE")
        if not file:
            continue
        if os.environ.get(name):
            raise SettingsError(f"{name} and {name}_FILE are both set: allowed is one of them")
        try:
            found[field] = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise SettingsError(f"{name}_FILE={file}: can't be read: {why}") from None
    return found
