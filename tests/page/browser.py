"""Chromium without a window, driven over its DevTools protocol: what a page shows, and what it complains of."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiohttp

from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_START_S = 60
_ANSWER_S = 60
_FLAGS = (
    "--headless",
    "--hide-scrollbars",  # they would take their width off a picture
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--remote-debugging-port=0",
    "about:blank",
)


class Browser:
    """One tab.

    Attributes:
        complaints: Errors and warnings of the console, exceptions that nobody caught, violations of the content
            security policy, requests that failed, each as a line.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.complaints: list[str] = []
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = asyncio.create_task(self._read())

    async def prepare(self) -> None:
        """Listen to what the tab says."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; fails with what Chromium says where it refuses."""
        number = next(self._numbers)
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(_ANSWER_S):
            answer = await answered
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    async def open(self, url: str) -> None:
        """Go to an address."""
        answer = await self.call("Page.navigate", url=url)
        assert "errorText" not in answer, answer

    async def value(self, expression: str) -> Any:
        """Give what an expression of JavaScript is; a promise is waited for."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    async def until(self, expression: str, timeout_s: float = 30) -> None:
        """Wait until an expression is true."""

        async def holds() -> bool:
            try:
                return bool(await self.value(f"!!({expression})"))  # an element has no value
            except AssertionError:  # in the midst of a navigation there may be nothing to ask
                return False

        await until(holds, timeout_s, lambda: f"{expression}; {self.complaints}")

    async def text(self, selector: str) -> str:
        """Give the text of the first element that a selector finds."""
        return str(await self.value(f"document.querySelector({json.dumps(selector)}).textContent"))

    async def follow(self, selector: str) -> None:
        """Put the focus on a link and press Enter, as somebody without a mouse does."""
        await self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        for kind in ("rawKeyDown", "char", "keyUp"):
            key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
            await self.call("Input.dispatchKeyEvent", type=kind, **key)

    async def look(self, *, wide: int, dark: bool = False, high: int = 900) -> None:
        """Set the width of the window and the colours that its user prefers."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def screenshot(self, file: Path) -> None:
        """Save the whole page as a picture."""
        answer = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        await asyncio.to_thread(file.write_bytes, base64.b64decode(answer["data"]))

    async def close(self) -> None:
        """Let go of the tab."""
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading

    async def _read(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                self._waiting.pop(said["id"]).set_result(said)
            elif complaint := _complaint(said["method"], said["params"]):
                self.complaints.append(complaint)


def _complaint(method: str, given: dict[str, Any]) -> str | None:
    match method:
        case "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            return f"exception: {details['text']} {details.get('exception', {}).get('description', '')}"
        case "Runtime.consoleAPICalled" if given["type"] in {"error", "warning", "assert"}:
            return f"console: {[one.get('value', one.get('description')) for one in given['args']]}"
        case "Log.entryAdded" if given["entry"]["level"] in {"error", "warning"}:
            entry = given["entry"]
            return f"{entry['source']}: {entry['text']} {entry.get('url', '')}"
        case "Network.loadingFailed" if not given.get("canceled"):
            return f"network: {given['errorText']}"
    return None


def program() -> str:
    """Find Chromium; fails with what to install."""
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    assert found, f"This needs one of {', '.join(_PROGRAMS)}: apt-get install --no-install-recommends chromium"
    return found


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    """Run Chromium with one tab while the block runs.

    Args:
        folder: For its profile and its log.
    """
    profile, log = folder / "profile", folder / "chromium.log"
    flags = [*_FLAGS, f"--user-data-dir={profile}"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(program(), *flags, stdout=out, stderr=out)
    try:
        port = profile / "DevToolsActivePort"
        await until(lambda: port.exists() and len(port.read_text().split()) > 1, _START_S, log.read_text)
        address = f"http://127.0.0.1:{port.read_text().split()[0]}"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{address}/json/list") as answer:
                [tab] = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                opened = Browser(socket)
                await opened.prepare()
                try:
                    yield opened
                finally:
                    await opened.close()
    finally:
        process.terminate()
        await process.wait()
