"""When a call returns, by the client that made it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.mcp.calls.client_budgets import soft_deadline_for

CALLS = CallSettings()


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
    assert soft_deadline_for(client, CALLS, has_progress_token=has_token) == seconds


@given(st.text(max_size=20), st.booleans(), st.floats(min_value=0.001, max_value=1e6))
def test_a_soft_deadline_that_was_set_holds_for_every_client(client: str, has_token: bool, seconds: float) -> None:  # noqa: FBT001
    settings = msgspec.structs.replace(CALLS, soft_deadline=seconds)
    assert soft_deadline_for(client, settings, has_progress_token=has_token) == seconds


@pytest.mark.parametrize("client", ["claude-code", "somebody"])
def test_a_soft_deadline_of_zero_is_never(client: str) -> None:
    settings = msgspec.structs.replace(CALLS, soft_deadline=0)
    assert soft_deadline_for(client, settings, has_progress_token=False) is None
