"""Two charts in one SVG: throughput by batch size (or by growth, or workers), latency by load.

Written by hand: matplotlib would add 12 packages to the lock file for bars and lines.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from tests.benchmarks.latency import IDLE_RATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.benchmarks.results import Table

    Scale = Callable[[float], float]

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 340, 60, 50, 60
_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#9498a0", "#a463f2")  # told apart in grey as well


class _Bar(NamedTuple):
    group: str
    series: str
    value: float
    marker: float | None = None  # a second value, drawn as a line above the bar


def save(path: Path, table: Table) -> None:
    """Write the charts."""
    throughput = [
        _Bar(r.note.strip(", ") or _batch(r.contender.batch), r.contender.name, r.rate) for r in table.results
    ]
    latency = [
        _Bar("idle" if one.rate == IDLE_RATE else f"{one.rate:,.0f}/s", result.contender.name, one.p50, one.p99)
        for result in table.results
        for one in result.latencies
        if one.p50 is not None
    ]
    names = list(dict.fromkeys(bar.series for bar in throughput))
    charts = [_chart("Matches a second", throughput, names, 0, _linear)]
    if latency:
        title = "Produced to seen, ms, by load: p50 the bar, p99 the line"
        charts.append(_chart(title, latency, names, _WIDTH, _logarithmic))
    width = _WIDTH * len(charts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" width="{width}" height="{_HEIGHT}" '
        f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>{"".join(charts)}</svg>\n'
    )


def _batch(size: int | None) -> str:
    return "no batches" if size is None else f"batch {size:,}"


def _linear(top: float) -> tuple[list[float], Scale]:
    """Give round ticks up to above `top`, and how high a value stands between 0 and 1."""
    step = 10.0 ** floor(log10(top))
    step = next(part * step for part in (0.2, 0.5, 1.0, 2.0) if part * step * 6 >= top)
    ticks = [step * number for number in range(int(top / step) + 2)]
    return ticks, lambda value: value / ticks[-1]


def _logarithmic(top: float) -> tuple[list[float], Scale]:
    """Likewise, in powers of ten from 1."""
    decades = max(1, ceil(log10(max(top, 1.0))))
    return [10.0**n for n in range(decades + 1)], lambda value: log10(max(value, 1.0)) / decades


def _chart(
    title: str,
    bars: Sequence[_Bar],
    names: Sequence[str],
    left: int,
    scale: Callable[[float], tuple[list[float], Scale]],
) -> str:
    """Draw grouped bars with a scale, a legend and the value above each bar."""
    base, height = _HEIGHT - _BOTTOM, _HEIGHT - _BOTTOM - _TOP
    ticks, share = scale(max([value for bar in bars for value in (bar.value, bar.marker or 0.0)], default=1.0))
    parts = [_text(left + _WIDTH / 2, 20, title, anchor="middle", size=14)]
    for tick in ticks:
        y = base - height * share(tick)
        parts.append(f'<path d="M{left + _LEFT} {y:.1f}H{left + _WIDTH - 10}" stroke="#ddd"/>')
        parts.append(_text(left + _LEFT - 6, y + 4, f"{tick:,.0f}", anchor="end"))
    groups = list(dict.fromkeys(bar.group for bar in bars))
    room = (_WIDTH - _LEFT - 20) / max(len(groups), 1)
    for place, group in enumerate(groups):
        mine = [bar for bar in bars if bar.group == group]
        width = min(46.0, (room - 14) / len(mine))
        x = left + _LEFT + place * room + (room - width * len(mine)) / 2
        parts.append(_text(left + _LEFT + (place + 0.5) * room, base + 16, group, anchor="middle"))
        for bar in mine:
            colour = _COLOURS[names.index(bar.series) % len(_COLOURS)]
            parts += _bar(bar, x, width, base, height, colour, share)
            x += width
    column = (_WIDTH - 20) / max(len(names), 1)
    for place, name in enumerate(names):
        x = left + 14 + place * column
        colour = _COLOURS[place % len(_COLOURS)]
        parts.append(f'<rect x="{x:.1f}" y="{_HEIGHT - 24}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(x + 13, _HEIGHT - 15, name, size=10))
    return "".join(parts)


def _bar(bar: _Bar, x: float, width: float, base: float, height: float, colour: str, share: Scale) -> Iterator[str]:
    """Draw one bar, and its marker."""
    top = base - height * share(bar.value)
    yield f'<rect x="{x + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" height="{base - top:.1f}" fill="{colour}">'
    yield f"<title>{escape(bar.series)}</title></rect>"
    if bar.marker is None:
        yield _text(x + width / 2, top - 4, f"{bar.value:,.0f}", anchor="middle", size=10)
        return
    yield _text(x + width / 2, base - 4, f"{bar.value:,.0f}", anchor="middle", size=10)  # inside, clear of the marker
    y = base - height * share(bar.marker)
    yield f'<path d="M{x + 1:.1f} {y:.1f}h{width - 2:.1f}" stroke="{colour}" stroke-width="2"/>'
    yield _text(x + width / 2, y - 4, f"{bar.marker:,.0f}", anchor="middle", size=10)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
