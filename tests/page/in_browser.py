"""The page of a live worker in Chromium: `make test-page`. Not among plain pytest's tests: not everyone has a browser.

PAGE_SCREENSHOTS names a folder for pictures of every view, light and dark, narrow and wide.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from tests.page.browser import browser
from tests.page.happenings import HERO, HOSTILE, HOSTILE_POOL, POOL
from tests.support.load import Load
from tests.support.running import running
from tests.support.waiting import until
from worker.ops.recent import RECENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.page.browser import Browser
    from worker.settings import Settings

NARROW, WIDE = 360, 1280
READY = "document.querySelector('main h1') && !document.querySelector('main[aria-busy]')"
HEADING = "document.querySelector('main h1').textContent"


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Browser]:
    """Give a tab, which must not have complained of anything by the end."""
    async with browser(tmp_path) as tab:
        await tab.look(wide=WIDE)
        yield tab
        assert tab.complaints == []


async def test_a_visit(happened: Settings, tab: Browser) -> None:
    """Figures move under traffic; from a leaderboard on to a player and a match and back, by keyboard alone."""
    load = Load(happened, seed=3, players=40)
    async with running(happened) as worker, load.flowing(at_a_time=50, ahead=200):
        await tab.open(worker.http.url)
        await tab.until("document.getElementById('state-words').textContent === 'ready'")
        figures = set[str]()

        async def moved() -> bool:
            figures.add(await tab.text("#tile-rated"))
            return len(figures) >= 4

        await until(moved, 60, lambda: f"stood at {figures}")
        await tab.until("document.querySelectorAll('#lag .cells li').length === 18")

        await tab.follow("nav a[data-nav=leaderboard]")
        await tab.until(f"{READY} && {HEADING}.startsWith('Leaderboard of')")
        assert await tab.value("document.activeElement.id") == "view", "a screen reader goes on with the new view"
        await tab.follow(f".chips a[href*='pool={POOL}']")
        await tab.until(f"{READY} && {HEADING} === 'Leaderboard of {POOL}'")
        name = await tab.text("main td a")
        await tab.follow("main td a")
        await tab.until(f"{READY} && {HEADING} === {json.dumps(f'Player {name}')}")
        await tab.until("document.querySelector('svg.plot[role=img][aria-label^=\"Rating of\"] polyline.line')")
        await tab.value("document.querySelectorAll('.choice input')[1].click()")
        await tab.until("[...document.querySelectorAll('.plot .tick')].some((one) => one.textContent.startsWith('#'))")
        await tab.follow("main td:last-child a")
        await tab.until(
            f"{READY} && {HEADING}.startsWith('Match ') && document.querySelectorAll('.sides tbody tr').length > 10"
        )
        assert "the same, to the last bit" in await tab.text("main")
        await tab.value("history.back()")
        await tab.until(f"{READY} && {HEADING} === {json.dumps(f'Player {name}')}")


async def test_names_that_are_meant_to_break_it(happened: Settings, tab: Browser) -> None:
    """Whatever a pool, a player or a match is called, it is shown as text, and its links lead to it."""
    async with running(happened) as worker:
        await tab.open(f"{worker.http.url}/#/leaderboard?{_query(pool=HOSTILE_POOL)}")
        await tab.until(f"{READY} && document.querySelectorAll('main tbody tr').length === {len(HOSTILE)}")
        for place in range(1, len(HOSTILE) + 1):
            await tab.open("about:blank")
            await tab.open(f"{worker.http.url}/#/leaderboard?{_query(pool=HOSTILE_POOL)}")
            row = f"main tbody tr:nth-child({place}) a"
            await tab.until(f"{READY} && document.querySelector({json.dumps(row)})")
            name = await tab.text(row)
            await tab.follow(row)
            await tab.until(f"{READY} && {HEADING} === {json.dumps(f'Player {name}')}")
            await tab.follow("main td:last-child a")
            await tab.until(f"{READY} && {HEADING}.startsWith('Match ') && document.querySelector('.sides td')")
            assert "taken" not in await tab.value("document.title.replace(/“.*”|<.*>|`.*`/g, '')")
            strange = (
                "document.querySelectorAll('main script, main img, main b[onclick], main [onerror], main i, main u')"
            )
            assert await tab.value(f"{strange}.length") == 0


async def test_what_is_not_there_is_said(happened: Settings, tab: Browser) -> None:
    """An unknown player, an unknown view: words and a way on. The browser's own note of the 404 is all it logs."""
    async with running(happened) as worker:
        await tab.open(f"{worker.http.url}/#/player?id=nobody")
        await tab.until("document.querySelector('[role=alert]')")
        assert await tab.text("[role=alert]") == "Player nobody has no match in any pool."
        await tab.open(f"{worker.http.url}/#/nowhere")
        await tab.until("document.querySelector('[role=alert]')?.textContent === 'There is no view named nowhere.'")
    assert [one for one in tab.complaints if "404" not in one] == []
    tab.complaints.clear()


async def test_it_asks_only_while_somebody_looks(happened: Settings, tab: Browser) -> None:
    """A tab in the background asks nothing; back in front it asks at once."""
    async with running(happened) as worker:
        await tab.open(worker.http.url)
        await tab.until("document.getElementById('state-words').textContent === 'ready'")
        asked = "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/api/status')).length"
        await tab.value("Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })")
        await tab.value("document.dispatchEvent(new Event('visibilitychange'))")
        before = await tab.value(asked)
        await asyncio.sleep(5)  # two turns of a tab that is looked at
        assert await tab.value(asked) <= before + 1, "one may have been on its way"
        await tab.value("delete document.visibilityState")
        await tab.value("document.dispatchEvent(new Event('visibilitychange'))")
        await tab.until(f"{asked} > {before + 1}")


async def test_every_view_fits_and_is_shown(happened: Settings, tab: Browser) -> None:
    """No view is wider than the window, narrow or wide, light or dark; the pictures are for people."""
    folder = Path(os.environ["PAGE_SCREENSHOTS"]) if "PAGE_SCREENSHOTS" in os.environ else None
    match = f"{HOSTILE[0]}0"
    views = {
        "worker": "",
        "leaderboard": f"leaderboard?{_query(pool=HOSTILE_POOL)}",
        "player": f"player?{_query(id=HERO, pool=POOL)}",
        "player-sanctioned": f"player?{_query(id='b1')}",
        "match": f"match?{_query(id='g19')}",
        "match-hostile": f"match?{_query(id=match)}",
        "match-voided": f"match?{_query(id='g20')}",
    }
    RECENT.add(
        {"timestamp": "2026-01-01T00:00:00Z", "level": "warning", "event": "does not answer", "error": "x" * 300}
    )
    load = Load(happened, seed=4, players=40)
    async with running(happened) as worker, load.flowing(at_a_time=20, ahead=100):
        for name, view in views.items():
            for wide, dark in ((NARROW, False), (NARROW, True), (WIDE, False), (WIDE, True)):
                await tab.look(wide=wide, dark=dark)
                await tab.open("about:blank")
                await tab.open(f"{worker.http.url}/#/{view}")
                await tab.until(f"{READY} && document.getElementById('state').dataset.kind")
                if name == "worker":
                    await tab.until(
                        "['.bars tr', '.spark .line', '.cells li'].every((one) => document.querySelector(one))"
                    )
                assert not await tab.value("document.querySelector('[role=alert]')?.textContent"), name
                assert await tab.value("document.documentElement.scrollWidth") == wide, (name, wide)
                if folder is not None:
                    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
                    await tab.screenshot(folder / f"{name}-{wide}-{'dark' if dark else 'light'}.png")


def _query(**parameters: str) -> str:
    return urlencode(parameters)
