"""Why no broker can be talked to.

aiokafka says only that it could not start. Here each broker is asked once more, and what it answers, or how it hangs
up, is put into words.
"""

from __future__ import annotations

import asyncio
from asyncio import IncompleteReadError
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from aiokafka.conn import AIOKafkaConnection, OAuthAuthenticator
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.admin import SaslHandShakeRequest
from aiokafka.protocol.metadata import MetadataRequest

from worker.settings import SaslMechanism
from worker.stream import security
from worker.stream.errors import StreamAwayError, StreamSetupError
from worker.stream.tokens import TokenAwayError, TokenRefusedError
from worker.tls import Wrong, fault_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.settings import Settings

_AWAY: tuple[type[Exception], ...] = (KafkaError, OSError, TimeoutError, EOFError)
_PROTOCOL = "Mend RATING_KAFKA_SECURITY_PROTOCOL, or the port in RATING_KAFKA_BOOTSTRAP."
_MEND_TLS = {
    Wrong.ISSUER: "Let RATING_KAFKA_CA_FILE name the certificates of the authority that signed it.",
    Wrong.HOST: "Name the brokers in RATING_KAFKA_BOOTSTRAP, and have them advertised, as their certificates do.",
    Wrong.DATE: "Renew it, or set the clock of this machine.",
    Wrong.CLIENT: "Set RATING_KAFKA_CERTIFICATE_FILE and RATING_KAFKA_KEY_FILE to what the brokers trust.",
    Wrong.PROTOCOL: _PROTOCOL,
}
# The first bytes of a TLS alert, which aiokafka takes for the length of an answer.
_TLS_ALERT = 0x1503
_GOODBYE_S = 1.0
_HANDSHAKE_TAKEN = (0, 33)  # yes, or not by this mechanism: either way there is a login


async def explain(settings: Settings) -> None:
    """Find out why the brokers can't be talked to; returns if one of them can.

    Raises:
        StreamSetupError: A setting, a login or a certificate is wrong: which, where and what to do.
        StreamAwayError: They are away; says of each how.
    """
    brokers = settings.kafka_bootstrap.split(",")
    faults = [fault for fault in await asyncio.gather(*(_fault(settings, one) for one in brokers)) if fault]
    if len(faults) < len(brokers):
        return
    to_mend = [fault for fault in faults if isinstance(fault, StreamSetupError)]
    raise (StreamSetupError if to_mend else StreamAwayError)(" ".join(dict.fromkeys(map(str, to_mend or faults))))


async def reworded(settings: Settings, error: StreamAwayError) -> StreamAwayError:
    """Give the fault of a worker that was connected once, with the reason if one is found: it waits in any case."""
    try:
        await explain(settings)
    except (StreamAwayError, StreamSetupError) as why:
        return StreamAwayError(str(why))
    return error


async def _fault(settings: Settings, broker: str) -> Exception | None:
    where = f"Kafka at {broker}"
    try:
        async with _connected(settings, broker, security.options(settings)) as connection:
            await connection.send(MetadataRequest([]))
    except StreamSetupError as error:
        return error
    except TokenAwayError as error:
        return StreamAwayError(f"{where} can't be used now: {error.args[0]}.")
    except _AWAY as error:
        if why := _of_login(settings, error) or await _of_protocol(settings, broker, error):
            return StreamSetupError(f"{where} can't be used: {why}")
        if fault := fault_of(error):
            return StreamSetupError(f"{where} can't be used: {fault.detail}. {_MEND_TLS[fault.wrong]}")
        return StreamAwayError(f"{where} can't be reached: {_last_words(settings, error)}.")
    return None


@asynccontextmanager
async def _connected(settings: Settings, broker: str, options: dict[str, Any]) -> AsyncIterator[AIOKafkaConnection]:
    """Connect, ask for the versions of the protocol, and log in if the options say so."""
    host, _, port = broker.rpartition(":")
    timeout_ms = int(settings.kafka_request_timeout_s * 1000)
    connection = _Connection(host.strip("[]"), int(port), request_timeout_ms=timeout_ms, **options)
    try:
        await connection.connect()
        yield connection
    finally:
        closed = connection.close()
        if connection._protocol is not None:  # noqa: SLF001 - it was connected, so there is an end to wait for
            # uvloop can't end a command while a TLS connection is still saying goodbye.
            await asyncio.wait({closed}, timeout=_GOODBYE_S)


def _of_login(settings: Settings, error: Exception) -> str | None:
    """Say what is wrong with the login, if that is it."""
    mechanism = settings.kafka_sasl_mechanism
    match error:
        case TokenRefusedError():
            return f"there is no token: {error.args[0]}."
        case SaslAuthenticationFailed() if mechanism is SaslMechanism.OAUTHBEARER:
            return (
                f"it refuses the token: {error.args[0]}. Look at its audience, scope and end, and at the broker's log."
            )
        case SaslAuthenticationFailed():
            return (
                f"it refuses the login of {settings.kafka_sasl_user} by {mechanism}: {error.args[0]}. "
                "Mend RATING_KAFKA_SASL_USER and RATING_KAFKA_SASL_PASSWORD."
            )
        case UnsupportedSaslMechanismError():
            return f"it takes no login by {mechanism}. Mend RATING_KAFKA_SASL_MECHANISM."
        case IllegalSaslStateError():
            return f"it takes no login there. {_PROTOCOL}"
    return None


async def _of_protocol(settings: Settings, broker: str, error: Exception) -> str | None:
    """Say that the broker expects another protocol, if it shows so by more than by hanging up."""
    protocol = settings.kafka_security_protocol
    if not protocol.tls and any(_is_tls_alert(one) for one in (error, error.__cause__)):
        return f"it speaks TLS there, and {protocol} does not. {_PROTOCOL}"
    if protocol.tls and isinstance(error, ConnectionError) and await _speaks_no_tls(settings, broker):
        return f"it speaks no TLS there, and {protocol} does. {_PROTOCOL}"
    hung_up = isinstance(error.__cause__, IncompleteReadError)
    if not protocol.sasl and hung_up and await _asks_for_login(settings, broker):
        return f"it asks for a login there, and {protocol} has none. {_PROTOCOL}"
    return None


def _is_tls_alert(error: BaseException | None) -> bool:
    return isinstance(error, IncompleteReadError) and (error.expected or 0) >> 16 == _TLS_ALERT


async def _speaks_no_tls(settings: Settings, broker: str) -> bool:
    with suppress(*_AWAY):
        async with _connected(settings, broker, {}):
            return True
    return False


async def _asks_for_login(settings: Settings, broker: str) -> bool:
    with suppress(*_AWAY):
        async with _connected(settings, broker, security.options(settings)) as connection:
            answer = await connection.send(SaslHandShakeRequest("PLAIN"))
            return answer.error_code in _HANDSHAKE_TAKEN
    return False


def _last_words(settings: Settings, error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {settings.kafka_request_timeout_s:g} s"
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class _Connection(AIOKafkaConnection):  # type: ignore[misc]
    """A connection that hears out why a token is refused: aiokafka takes any answer to a token for a yes."""

    def authenticator_oauth(self) -> OAuthAuthenticator:
        return _HearingOut(sasl_oauth_token_provider=self._sasl_oauth_token_provider)


class _HearingOut(OAuthAuthenticator):  # type: ignore[misc]
    async def step(self, payload: bytes | None) -> tuple[bytes, bool] | None:
        # RFC 7628, 3.2.3: a refusal comes as a message, is answered by one byte, and only then is one.
        return (b"\x01", True) if payload else await super().step(payload)
