"""Refusals of the app-server, told apart by their texts."""

import pytest

from codex_mcp.base.errors import Notice
from codex_mcp.codex.core import (
    BadThreadId,
    ConfigRefused,
    CoreError,
    NotSteerable,
    ThreadDamaged,
    ThreadHeld,
    ThreadNotFound,
    ThreadUnusable,
)
from codex_mcp.codex.refusals import refusal


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        ("failed to load configuration: line 3", ConfigRefused, "line 3"),
        ("no rollout found for thread id t", ThreadNotFound, "no rollout found for thread id t"),
        ("invalid thread id: oops", BadThreadId, "oops"),
        ("no active turn to steer", NotSteerable, "no active turn to steer"),
        ("expected active turn id `a` but found `b`", NotSteerable, "expected active turn id `a` but found `b`"),
        ("cannot steer a review turn", NotSteerable, "cannot steer a review turn"),
        ("cannot steer a compact turn", NotSteerable, "cannot steer a compact turn"),
        (
            "active turn uses a different output schema",
            NotSteerable,
            "active turn uses a different output schema",
        ),
        ("session t is archived", ThreadUnusable, "session t is archived"),
        ("invalid paginated history lineage for t: x", ThreadDamaged, "invalid paginated history lineage for t: x"),
        (
            "thread t already has an active writer",
            ThreadHeld,
            "thread t already has an active writer: another Codex has it open; end the server that runs it, or wait",
        ),
        ("something else", CoreError, "something else"),
    ],
)
def test_a_refusal_is_the_error_that_its_text_means(message: str, kind: type[CoreError], text: str) -> None:
    error = refusal(Notice(message))
    assert (type(error), str(error)) == (kind, text)
