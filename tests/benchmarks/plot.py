"""Two charts in one SVG: throughput by batch size, latency by load.

Written by hand: matplotlib would add 12 packages to the lock file for bars and lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from tests.benchmarks.latency import IDLE_RATE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.benchmarks.results import Table

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 560, 340, 70, 50, 60
_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2")  # told apart in grey as well
_TICKS = 5


class _Bar(NamedTuple):
    group: str
    series: str
    value: float
    marker: float | None = None  # a second value, drawn as a line above the bar


def save(path: Path, table: Table) -> None:
    """Write the charts."""
    throughput = [
        _Bar("no batches" if r.contender.batch is None else f"batch {r.contender.batch:,}", r.contender.name, r.rate)
        for r in table.results
    ]
    latency = [
        _Bar(
            "idle" if one.rate == IDLE_RATE else f"{one.rate:,.0f}/s",
            result.contender.title,
            one.p50,
            one.p99,
        )
        for result in table.results
        for one in result.latencies
        if one.p50 is not None
    ]
    charts = [_chart("Matches a second, by batch size", throughput, 0)]
    if latency:
        charts.append(_chart("Produced to seen, ms: bar p50, line p99, by load", latency, _WIDTH))
    width = _WIDTH * len(charts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" width="{width}" height="{_HEIGHT}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(charts)}</svg>\n"
    )


def _chart(title: str, bars: Sequence[_Bar], left: int) -> str:
    """Draw grouped bars with a scale, a legend and the value above each bar."""
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    top = max([value for bar in bars for value in (bar.value, bar.marker or 0.0)], default=1.0) * 1.1
    base, height = _HEIGHT - _BOTTOM, _HEIGHT - _BOTTOM - _TOP
    parts = [_text(left + _WIDTH / 2, 20, title, anchor="middle", size=14)]
    for tick in range(_TICKS + 1):
        y = base - height * tick / _TICKS
        parts.append(f'<path d="M{left + _LEFT} {y:.1f}H{left + _WIDTH - 10}" stroke="#ddd"/>')
        parts.append(_text(left + _LEFT - 6, y + 4, f"{top * tick / _TICKS:,.0f}", anchor="end"))
    room = (_WIDTH - _LEFT - 20) / max(len(groups), 1)
    for place, group in enumerate(groups):
        mine = [bar for bar in bars if bar.group == group]
        width = min(46.0, (room - 14) / len(mine))
        x = left + _LEFT + place * room + (room - width * len(mine)) / 2
        parts.append(_text(left + _LEFT + (place + 0.5) * room, base + 16, group, anchor="middle"))
        for bar in mine:
            tall = height * bar.value / top
            colour = _COLOURS[series.index(bar.series) % len(_COLOURS)]
            parts.append(
                f'<rect x="{x + 1:.1f}" y="{base - tall:.1f}" width="{width - 2:.1f}" height="{tall:.1f}" '
                f'fill="{colour}"><title>{escape(bar.series)}</title></rect>'
            )
            parts.append(_text(x + width / 2, base - tall - 4, f"{bar.value:,.0f}", anchor="middle", size=10))
            if bar.marker is not None:
                y = base - height * bar.marker / top
                parts.append(f'<path d="M{x + 1:.1f} {y:.1f}h{width - 2:.1f}" stroke="{colour}" stroke-width="2"/>')
                parts.append(_text(x + width / 2, y - 4, f"{bar.marker:,.0f}", anchor="middle", size=10))
            x += width
    column = (_WIDTH - 20) / max(len(series), 1)
    for place, name in enumerate(series):
        x = left + 14 + place * column
        parts.append(f'<rect x="{x:.1f}" y="{_HEIGHT - 24}" width="10" height="10" fill="{_COLOURS[place % 6]}"/>')
        parts.append(_text(x + 14, _HEIGHT - 15, name, size=10))
    return "".join(parts)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
