import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.groups import LogLevel, Settings, level_from_filter, soft_deadline_for

DEFAULTS = Settings(codex_home="home")


@pytest.mark.parametrize(
    ("client", "has_token", "seconds"),
    [
        ("claude-code", True, None),
        ("claude-code", False, 1500),
        ("Claude-Code", True, None),
        ("claude-ai", True, 45),
        ("codex-mcp-client", True, 240),
        ("codex-mcp-client", False, 240),
        ("somebody", True, 240),
        ("somebody", False, 45),
        ("", False, 45),
    ],
)
def test_a_call_returns_before_its_client_gives_up(client: str, seconds: float | None, *, has_token: bool) -> None:
    assert soft_deadline_for(client, DEFAULTS, has_progress_token=has_token) == seconds


@given(st.text(max_size=20), st.booleans(), st.floats(min_value=0.001, max_value=1e6))
def test_a_soft_deadline_that_was_set_holds_for_every_client(client: str, has_token: bool, seconds: float) -> None:  # noqa: FBT001
    settings = msgspec.structs.replace(DEFAULTS, soft_deadline=seconds)
    assert soft_deadline_for(client, settings, has_progress_token=has_token) == seconds


@pytest.mark.parametrize("client", ["claude-code", "somebody"])
def test_a_soft_deadline_of_zero_is_never(client: str) -> None:
    settings = msgspec.structs.replace(DEFAULTS, soft_deadline=0)
    assert soft_deadline_for(client, settings, has_progress_token=False) is None


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
