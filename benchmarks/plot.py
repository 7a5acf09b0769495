"""Pure. A drawing of lines over a number that grows by powers of ten, as SVG: panels side by side, both scales log."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 360, 240
"""Of the field of one panel."""
LEFT, TOP, BOTTOM, GAP = 60, 40, 50, 80
RIGHT = 50
"""Room for the names of the last panel's lines."""
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f")
"""Dark enough on white and light enough on black, since pages are both."""
GREY = "#8a8a8a"
MARKS_IN_DECADE = (1, 3)


@dataclass(frozen=True, slots=True)
class Line:
    """Points, from left to right; both numbers are above zero."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines that share a scale."""

    title: str
    unit: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers to places: equal factors are equal distances."""

    low: float
    high: float
    length: float

    def place(self, number: float) -> float:
        """How far from the beginning."""
        return self.length * math.log(number / self.low) / math.log(self.high / self.low)

    def marks(self) -> Iterator[float]:
        """The numbers that are written beside the scale."""
        for power in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            for first in MARKS_IN_DECADE:
                if self.low <= first * 10.0**power <= self.high * (1 + 1e-9):
                    yield first * 10.0**power


def scale_of(numbers: Sequence[float], length: float) -> Scale:
    """A scale that these numbers fit on, and that begins and ends at a mark."""
    low, high = _mark_below(min(numbers)), _mark_above(max(numbers))
    return Scale(low, high if high > low else 10 * low, length)


def drawing(about: str, panels: Sequence[Panel]) -> str:
    """The whole picture; `about` stands below the scale that all panels have in common."""
    wide, high = len(panels) * (LEFT + WIDTH + GAP) - GAP + RIGHT, TOP + HEIGHT + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'font-family="sans-serif" font-size="12" fill="{GREY}">'
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({LEFT + number * (LEFT + WIDTH + GAP)} {TOP})">')
        parts += _panel(about, panel)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _panel(about: str, panel: Panel) -> Iterator[str]:
    across = scale_of([x for line in panel.lines for x, _ in line.points], WIDTH)
    up = scale_of([y for line in panel.lines for _, y in line.points], HEIGHT)
    yield _text(0, -20, f"{panel.title}, {panel.unit}", "start")
    yield _text(WIDTH / 2, HEIGHT + 40, about, "middle")
    for mark in across.marks():
        x = across.place(mark)
        yield f'<path d="M{x:.1f} 0V{HEIGHT}" stroke="{GREY}" stroke-opacity="0.3"/>'
        yield _text(x, HEIGHT + 18, f"{mark:,g}", "middle")
    for mark in up.marks():
        y = HEIGHT - up.place(mark)
        yield f'<path d="M0 {y:.1f}H{WIDTH}" stroke="{GREY}" stroke-opacity="0.3"/>'
        yield _text(-8, y + 4, f"{mark:,g}", "end")
    for line, colour in zip(panel.lines, COLOURS, strict=False):
        yield from _line(line, colour, across, up)


def _line(line: Line, colour: str, across: Scale, up: Scale) -> Iterator[str]:
    places = [(across.place(x), HEIGHT - up.place(y)) for x, y in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for (x, y), (_, number) in zip(places, line.points, strict=True):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        yield _text(x, y - 8, f"{number:.3g}", "middle", colour)
    yield _text(places[-1][0] + 8, places[-1][1] + 4, line.name, "start", colour)


def _text(x: float, y: float, words: str, anchor: str, colour: str = GREY) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def _mark_below(number: float) -> float:
    power = 10.0 ** math.floor(math.log10(number))
    return max((first * power for first in MARKS_IN_DECADE if first * power <= number), default=power)


def _mark_above(number: float) -> float:
    power = 10.0 ** math.floor(math.log10(number))
    return next((first * power for first in MARKS_IN_DECADE if first * power >= number), 10 * power)
