import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.groups import SETTINGS
from codex_mcp.base.settings.nearest import nearest


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("evnts", "events"),
        ("soft-dedline", "soft_deadline"),
        ("Model", "model"),
        ("tema", "team"),
        ("sand_box", "sandbox"),
        ("colour", None),
        ("", None),
    ],
)
def test_a_slip_of_the_pen_is_recognised(name: str, meant: str | None) -> None:
    assert nearest(name, SETTINGS) == meant


def test_where_nothing_is_known_nothing_is_meant() -> None:
    assert nearest("x", ()) is None


@given(st.sampled_from(sorted(SETTINGS)))
def test_a_known_name_means_itself(name: str) -> None:
    assert nearest(name, SETTINGS) == name
