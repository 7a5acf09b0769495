import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.groups import GROUPS, SETTINGS, settings_of, values_of
from codex_mcp.base.settings.kinds import LogLevel, Place, level_from_filter
from tests.support.settings import make_settings

CALLS = CallSettings()
HERE = Place("/repo/sub", "/home/me")
DEFAULTS = values_of(make_settings("/home/me/.codex", state_dir="/state"))
anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.text(max_size=4))
)


def test_every_field_of_a_group_is_a_setting_and_no_name_is_used_twice() -> None:
    fields = [name for group in GROUPS.values() for name in group.__struct_fields__ if name not in ("exec", "named")]
    assert fields == list(SETTINGS) == list(DEFAULTS)


def test_values_reach_their_groups() -> None:
    settings = settings_of(
        {"codex_home": "/home", "exec_server": "ws://box", "port": 1, "team": "red", "events": "none"}
    )
    assert values_of(settings) == {**DEFAULTS, "codex_home": "/home", "state_dir": ""} | {
        "exec_server": "ws://box",
        "port": 1,
        "team": "red",
        "events": "none",
    }


def test_no_flag_is_used_twice() -> None:
    flags = [flag for name, setting in SETTINGS.items() for flag in setting.flags_for(name)]
    assert len(flags) == len(set(flags))


@pytest.mark.parametrize("name", SETTINGS)
@given(value=anything)
def test_a_value_is_taken_or_refused_whatever_it_is(name: str, value: object) -> None:
    with contextlib.suppress(ValueError):
        SETTINGS[name].kind(value, HERE)


def test_every_number_has_bounds() -> None:
    """Neither the largest nor the smallest number that a file can hold is taken."""
    numbers = (float, int)
    numeric = [name for name in SETTINGS if type(DEFAULTS[name]) in numbers] + ["soft_deadline", "port"]
    assert len(numeric) > 25
    for name in numeric:
        for absurd in (1e300, "1e300", 1e-300, -1, math.inf, math.nan):
            with pytest.raises(ValueError, match=r"a number|a whole number"):
                SETTINGS[name].kind(absurd, HERE)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_default_is_a_value_that_could_be_set(name: str) -> None:
    value = DEFAULTS[name]
    if value is not None and not isinstance(value, tuple):
        assert SETTINGS[name].kind(value, HERE) == value


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("info", LogLevel.INFO),
        ("WARN", LogLevel.WARNING),
        ("codex_mcp_server=debug,axum=info,hyper=warn", LogLevel.DEBUG),
        ("error,codex-mcp=trace", LogLevel.TRACE),
        ("codex_mcp=debug,error", LogLevel.DEBUG),
        ("axum=debug, error", LogLevel.ERROR),
        ("off", LogLevel.OFF),
        ("axum=debug", None),
        ("shout", None),
        ("", None),
    ],
)
def test_a_log_filter_gives_us_our_own_level_or_the_default(text: str, level: LogLevel | None) -> None:
    assert level_from_filter(text) is level


@given(st.text(max_size=40))
def test_no_filter_is_an_error(text: str) -> None:
    assert level_from_filter(text) in {*LogLevel, None}
