"""The plot of `experiments.growth`, as SVG text: one panel a script, one line a way, on a logarithmic scale.

A line is the mean of the last 20 steps, since a prompt grows with each call and shrinks with each compression.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

_COLORS: Final = ("#8a8a8a", "#d9822b", "#2f7fd1", "#1f9d55")
_DASHES: Final = ("6 3", "2 2", "", "")
_WIDTH, _HEIGHT, _LEFT, _TOP = 420, 300, 70, 40
_PANEL: Final = _WIDTH + _LEFT + 30

Curves = Mapping[str, Sequence[int]]


def plot(panels: Mapping[str, Curves]) -> str:
    """The whole picture."""
    top = max(max(curve) for curves in panels.values() for curve in curves.values())
    low, high = 2, math.ceil(math.log10(top))
    width, height = _PANEL * len(panels) + 10, _TOP + _HEIGHT + 80
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" fill="#333">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for i, (title, curves) in enumerate(panels.items()):
        lines.append(f'<g transform="translate({_PANEL * i + _LEFT} {_TOP})">')
        lines += _axes(title, low, high, max(len(curve) for curve in curves.values()))
        lines += _curves(curves, low, high)
        lines.append("</g>")
    ways = next(iter(panels.values()))
    for i, way in enumerate(ways):
        x, y = _LEFT + 130 * i, height - 14
        dash = f' stroke-dasharray="{_DASHES[i]}"' if _DASHES[i] else ""
        lines.append(f'<path d="M{x} {y - 4}h26" stroke="{_COLORS[i]}" stroke-width="2"{dash}/>')
        lines.append(f'<text x="{x + 32}" y="{y}">{way}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _axes(title: str, low: int, high: int, steps: int) -> Iterator[str]:
    yield f'<text x="{_WIDTH / 2}" y="-14" text-anchor="middle" font-size="14">{title}</text>'
    for power in range(low, high + 1):
        y = _HEIGHT * (high - power) / (high - low)
        yield f'<path d="M0 {y:.1f}h{_WIDTH}" stroke="#ddd"/>'
        yield f'<text x="-8" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>'
    for i in range(6):
        x = _WIDTH * i / 5
        yield f'<text x="{x:.1f}" y="{_HEIGHT + 18}" text-anchor="middle">{round(steps * i / 5)}</text>'
    yield f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 36}" text-anchor="middle">steps; tokens of the prompt</text>'


def _curves(curves: Curves, low: int, high: int) -> Iterator[str]:
    for i, curve in enumerate(map(_smooth, curves.values())):
        points = " ".join(
            f"{_WIDTH * (n + 1) / len(curve):.1f},"
            f"{_HEIGHT * (high - max(low, math.log10(max(length, 1)))) / (high - low):.1f}"
            for n, length in enumerate(curve)
        )
        dash = f' stroke-dasharray="{_DASHES[i]}"' if _DASHES[i] else ""
        yield f'<polyline points="{points}" fill="none" stroke="{_COLORS[i]}" stroke-width="1.5"{dash}/>'


def _smooth(curve: Sequence[int]) -> list[float]:
    return [statistics.fmean(curve[max(0, n - 19) : n + 1]) for n in range(len(curve))]
