"""Tokens for OAUTHBEARER: out of a file that something else keeps fresh, or from a token endpoint."""

from __future__ import annotations

import asyncio
import ssl
import time
from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import aiohttp
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError

from worker.tls import fault_of, said_by

if TYPE_CHECKING:
    from pathlib import Path

    from worker.settings import Settings

# A token is used for this share of its life: the rest is for clocks that differ and for brokers that are slow.
_USED_FOR = 0.8
_SAID_CHARACTERS = 200


class TokenRefusedError(KafkaError):  # type: ignore[misc]
    """There is no token until somebody mends it: says what is wrong and what to do."""


class TokenAwayError(KafkaError):  # type: ignore[misc]
    """The token endpoint is away; worth trying again."""


class FileTokens(AbstractTokenProvider):  # type: ignore[misc]
    """The token that is in a file at the moment: Kubernetes and Vault's agent renew theirs in place."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    async def token(self) -> str:
        """Read the file.

        Raises:
            TokenRefusedError: It can't be read, or is empty.
        """
        where = f"RATING_KAFKA_OAUTH_TOKEN_FILE={self._path}"
        try:
            text = (await asyncio.to_thread(self._path.read_text, encoding="ascii")).strip()
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not ASCII text, so no token"
            raise TokenRefusedError(f"{where} can't be read: {why}. Mend what writes it") from None
        if not text:
            raise TokenRefusedError(f"{where} is empty. Mend what writes it")
        return text


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks which endpoint for what; `secret` is in no repr."""

    url: str
    id: str
    secret: str = field(repr=False)
    scope: str | None
    ca_file: Path | None
    timeout_s: float


class EndpointTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Tokens by the grant `client_credentials` (RFC 6749, 4.4), each used until shortly before its end."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self._token = ""
        self._good_until = 0.0

    async def token(self) -> str:
        """Give a token that is good for some time yet, a new one if need be.

        Raises:
            TokenRefusedError: The endpoint refuses, or answers with something else.
            TokenAwayError: It does not answer.
        """
        # Two clients at once may both ask: that costs a request, where a lock would be bound to one event loop.
        if time.monotonic() >= self._good_until:
            asked_at = time.monotonic()
            answer = await self._ask()
            self._token = str(answer["access_token"])
            self._good_until = asked_at + _USED_FOR * _seconds(answer)
        return self._token

    async def _ask(self) -> dict[str, Any]:
        client = self._client
        form = {"grant_type": "client_credentials"} | ({"scope": client.scope} if client.scope else {})
        # RFC 6749, 2.3.1: both are encoded as in a form before they are joined.
        login = b64encode(f"{quote_plus(client.id)}:{quote_plus(client.secret)}".encode()).decode()
        headers = {"Authorization": f"Basic {login}"}
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(client.timeout_s)) as session,
                session.post(
                    client.url, data=form, headers=headers, ssl=self._trust(), allow_redirects=False
                ) as response,
            ):
                answer = await _json(response)
                if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise TokenAwayError(f"the token endpoint {client.url} answers {response.status}")
                if response.status != HTTPStatus.OK:
                    raise TokenRefusedError(
                        f"the token endpoint {client.url} answers {response.status}{_said(answer)}. Mend "
                        "RATING_KAFKA_OAUTH_CLIENT_ID, RATING_KAFKA_OAUTH_CLIENT_SECRET or RATING_KAFKA_OAUTH_SCOPE"
                    )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if fault := fault_of(error):
                raise TokenRefusedError(
                    f"the token endpoint {client.url} can't be used: {fault.detail}. "
                    "Mend RATING_KAFKA_OAUTH_TOKEN_URL or RATING_KAFKA_OAUTH_CA_FILE"
                ) from None
            behind = error.__cause__ or error
            why = f"{type(behind).__name__}: {behind}" if str(behind) else type(behind).__name__
            raise TokenAwayError(f"the token endpoint {client.url} can't be reached: {why}") from error
        if not isinstance(answer.get("access_token"), str):
            raise TokenRefusedError(
                f"the token endpoint {client.url} gives no access_token. Mend RATING_KAFKA_OAUTH_TOKEN_URL"
            )
        return answer

    def _trust(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self._client.ca_file)
        except (ssl.SSLError, OSError) as error:
            raise TokenRefusedError(
                f"RATING_KAFKA_OAUTH_CA_FILE={self._client.ca_file} has no certificates that can be used: "
                f"{said_by(error)}. Give it PEM certificates"
            ) from None


@lru_cache(maxsize=8)
def endpoint_tokens(client: Client) -> EndpointTokens:
    """Give the tokens of a client, the same for all that ask, so that its Kafka clients share them."""
    return EndpointTokens(client)


def tokens(settings: Settings) -> AbstractTokenProvider:
    """Give where the settings say that tokens come from."""
    if settings.kafka_oauth_token_file is not None:
        return FileTokens(settings.kafka_oauth_token_file)
    secret = settings.kafka_oauth_client_secret
    client = Client(
        settings.kafka_oauth_token_url or "",
        settings.kafka_oauth_client_id or "",
        secret.get_secret_value() if secret else "",
        settings.kafka_oauth_scope,
        settings.kafka_oauth_ca_file,
        settings.kafka_request_timeout_s,
    )
    return endpoint_tokens(client)


async def _json(response: aiohttp.ClientResponse) -> dict[str, Any]:
    try:
        answer = await response.json(content_type=None)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _said(answer: dict[str, Any]) -> str:
    """Give the endpoint's own words, the two that RFC 6749, 5.2 names: anything else may repeat what was sent."""
    words = ": ".join(str(answer[name]) for name in ("error", "error_description") if answer.get(name))
    return f", {words[:_SAID_CHARACTERS]}" if words else ""


def _seconds(answer: dict[str, Any]) -> float:
    """Give the life of a token in seconds; 0, so that it is used once, where the endpoint does not say."""
    try:  # RFC 6749 wants a number; some endpoints send it as text
        life = float(answer.get("expires_in") or 0)
    except (TypeError, ValueError):
        return 0.0
    return life if isfinite(life) and life > 0 else 0.0
