"""A drawing that a browser reads, with every point where it belongs."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plot import Line, Panel, drawing, scale_of

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = st.lists(st.floats(1e-6, 1e9), min_size=1)


@given(NUMBERS)
def test_everything_fits_on_its_scale(numbers: list[float]) -> None:
    scale = scale_of(numbers, 100)
    assert all(-1e-6 <= scale.place(number) <= 100 + 1e-6 for number in numbers)


@given(NUMBERS)
def test_a_scale_has_marks_at_its_beginning_and_above(numbers: list[float]) -> None:
    marks = list(scale_of(numbers, 100).marks())
    assert marks == sorted(marks)
    assert len(marks) >= 2


def test_equal_factors_are_equal_distances() -> None:
    scale = scale_of([100, 10_000], 100)
    assert [scale.place(number) for number in (100, 1_000, 10_000)] == pytest.approx([0, 50, 100])


def test_the_drawing_shows_every_point_and_says_what_it_is() -> None:
    panels = [
        Panel("memory", "MiB", [Line("PSS", [(100, 40), (1_000, 60)])]),
        Panel("a < b", "ms", [Line("p50", [(100, 1)]), Line("p99", [(100, 3)])]),
    ]
    tree = ElementTree.fromstring(drawing("sessions", panels))
    assert len(tree.findall(f".//{SVG}circle")) == 4
    texts = [element.text for element in tree.findall(f".//{SVG}text")]
    assert texts.count("sessions") == 2
    assert {"memory, MiB", "a < b, ms", "PSS", "p50", "p99", "1,000", "100"} <= set(texts)
