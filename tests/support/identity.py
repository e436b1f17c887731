"""A small identity provider: signs tokens, shows its public key to the broker, and serves a token endpoint by TLS."""

from __future__ import annotations

import base64
import json
import ssl
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

AUDIENCE = "kafka"
CLIENT_ID = "rating worker"  # with what has to be encoded, as RFC 6749 asks
CLIENT_SECRET = "Zq7-client:geheim/+"  # noqa: S105 - a word that appears nowhere else
SCOPE = "ratings"
_LOGIN = "Basic " + base64.b64encode(b"rating+worker:Zq7-client%3Ageheim%2F%2B").decode()


class IdentityProvider:
    """Signs tokens with a key of its own.

    Attributes:
        issued: How many its endpoint gave.
        life_s: How long those live, in seconds.
    """

    def __init__(self) -> None:
        self._key = generate_private_key(65537, 2048)
        self.issued = 0
        self.life_s = 3_600

    def jwks(self) -> str:
        """Give the public key as brokers read it (RFC 7517)."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": _number(numbers.n), "e": _number(numbers.e)}
        return json.dumps({"keys": [key]})

    def token(self, *, audience: str = AUDIENCE, life_s: int = 3_600) -> str:
        """Sign a token for the worker (RFC 7519)."""
        now = int(time.time())
        body = {"sub": "worker", "aud": audience, "iat": now, "exp": now + life_s, "scope": SCOPE}
        signed = f"{_json({'alg': 'RS256', 'kid': '1', 'typ': 'JWT'})}.{_json(body)}"
        return f"{signed}.{_base64(self._key.sign(signed.encode(), PKCS1v15(), SHA256()))}"

    @asynccontextmanager
    async def endpoint(self, certificate: Path, key: Path, port: int = 0) -> AsyncIterator[str]:
        """Serve tokens to who knows the secret, for the block; gives the URL."""
        application = web.Application()
        application.router.add_post("/token", self._answer)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        runner = web.AppRunner(application)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context, reuse_address=True)
            await site.start()
            yield f"https://127.0.0.1:{runner.addresses[0][1]}/token"
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        form = await request.post()
        if request.headers["Authorization"] != _LOGIN:
            return web.json_response({"error": "invalid_client", "error_description": "who are you"}, status=401)
        if (form["grant_type"], form["scope"]) != ("client_credentials", SCOPE):
            return web.json_response({"error": "invalid_scope"}, status=400)
        self.issued += 1
        token = self.token(life_s=self.life_s)
        return web.json_response({"access_token": token, "token_type": "Bearer", "expires_in": self.life_s})


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _json(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
