"""Every setting: its name, type, bounds, default and meaning, and what follows from them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints
from pydantic_settings import BaseSettings, SettingsConfigDict

from worker.settings.text import PREFIX
from worker.settings.values import (
    NAME,
    NAME_TEXT,
    Brokers,
    DatabaseUrl,
    Delivery,
    Files,
    LogFormat,
    LogLevel,
    Milliseconds,
    Name,
    OptionalFile,
    OptionalMechanism,
    OptionalPassword,
    OptionalText,
    OptionalTokenUrl,
    OptionalUrl,
    PostgresUrl,
    Seconds,
    SecurityProtocol,
    instance_id,
    says,
)


class Fields(BaseSettings):
    """All that an operator can set, each field checked alone; `Settings` checks them against each other."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )

    kafka_bootstrap: Brokers = "127.0.0.1:9092"
    """Kafka brokers to start from."""
    kafka_security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    """SSL and SASL_SSL encrypt by TLS and check each broker's certificate and host name; SASL_… logs in."""
    kafka_ca_file: OptionalFile = None
    """PEM certificates of the authorities that may sign the brokers'; without it, those of this machine."""
    kafka_certificate_file: OptionalFile = None
    """PEM certificate, with its chain, by which the worker shows who it is (mutual TLS)."""
    kafka_key_file: OptionalFile = None
    """PEM private key of RATING_KAFKA_CERTIFICATE_FILE; may be the same file."""
    kafka_key_password: OptionalPassword = None
    """Password of an encrypted RATING_KAFKA_KEY_FILE. A secret, given like RATING_DATABASE_URL."""
    kafka_sasl_mechanism: OptionalMechanism = None
    """How the worker logs in, where the protocol is SASL_…."""
    kafka_sasl_user: OptionalText = None
    """User of PLAIN and SCRAM."""
    kafka_sasl_password: OptionalPassword = None
    """Password of RATING_KAFKA_SASL_USER. A secret, given like RATING_DATABASE_URL."""
    kafka_oauth_token_file: OptionalFile = None
    """File with the token of OAUTHBEARER, which something else keeps fresh; read anew for each connection."""
    kafka_oauth_token_url: OptionalTokenUrl = None
    """Token endpoint of OAUTHBEARER, asked for a token by the grant client_credentials before the last one expires."""
    kafka_oauth_client_id: OptionalText = None
    """Who asks RATING_KAFKA_OAUTH_TOKEN_URL."""
    kafka_oauth_client_secret: OptionalPassword = None
    """Secret of RATING_KAFKA_OAUTH_CLIENT_ID. A secret, given like RATING_DATABASE_URL."""
    kafka_oauth_scope: OptionalText = None
    """Scope that is asked for, where the endpoint wants one."""
    kafka_oauth_ca_file: OptionalFile = None
    """PEM certificates of the authorities that may sign the token endpoint's; without it, those of this machine."""
    consumer_group: Name = "rating-worker"
    """Consumer group; all workers that share the work share it."""
    instance_id: Annotated[str, NAME, says(NAME_TEXT, default="host-pid-random")] = Field(default_factory=instance_id)
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
    dead_letter_topic: Annotated[str, NAME, says(NAME_TEXT, default="RATING_MATCH_TOPIC.dlq")] = Field(
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
    batch_max_bytes: Annotated[int, Field(ge=65_536, le=1_073_741_824)] = 32 * 1024 * 1024
    """A batch takes no more records once their values, uncompressed, are so many bytes together; under a backlog
    a worker holds two batches, the next one beside the one in hand."""
    batch_max_wait_ms: Annotated[int, Field(ge=1, le=60_000)] = 200
    """How long a poll waits for records when there are none."""
    max_event_bytes: Annotated[int, Field(ge=256, le=16_777_216)] = 65_536
    """A larger match event is dead-lettered undecoded."""
    max_future_s: Annotated[float, Field(ge=0, le=31_536_000)] = 86_400.0
    """A match that finished further in the future is dead-lettered."""
    retry_max_wait_s: Seconds = 5.0
    """Upper bound of the jittered wait between two tries."""

    database_url: PostgresUrl = DatabaseUrl("postgresql://rating@127.0.0.1:5432/rating")
    """Postgres to keep the ledger in. A secret: best given by RATING_DATABASE_URL_FILE or RATING_SECRETS_DIR. Its
    parameters set TLS, as in libpq: over a network `?sslmode=verify-full&sslrootcert=FILE`, and `sslcert`, `sslkey`
    and `sslpassword` for a certificate of the worker's own; without them it encrypts if it can, and checks nobody."""
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
    """Address of the status page, metrics and health; 0.0.0.0 or :: for all interfaces."""
    http_port: Annotated[int, Field(ge=0, le=65_535)] = 9464
    """Port of the status page, metrics and health; 0 takes a free one."""
    tracing_url: OptionalUrl = None
    """OpenTelemetry collector that traces of sampled matches go to, by OTLP over HTTP: `http://HOST:4318/v1/traces`."""
    log_format: LogFormat = LogFormat.AUTO
    """Log lines; auto is console on a terminal and JSON elsewhere."""
    log_level: LogLevel = LogLevel.INFO
    """Least severe level of the worker's own log lines."""
    library_log_level: LogLevel = LogLevel.WARNING
    """Least severe level of the libraries' log lines (aiokafka, asyncpg, alembic)."""

    pools_file: OptionalFile = None
    """TOML file that names each pool's policy, in place of the built-in pools."""
    policy_files: Files = ()
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
