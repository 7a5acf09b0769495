"""How threads and turns are described, and how a core fails."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.app_server import AppServer
from codex_mcp.codex.core import (
    BadThreadId,
    ConfigRefused,
    Core,
    CoreError,
    CoreLost,
    ThreadNotFound,
    ThreadSpec,
    TurnSpec,
    plain_id,
)


def test_what_is_not_said_is_left_to_codex() -> None:
    spec = ThreadSpec()
    assert (spec.cwd, spec.model, spec.approval_policy, spec.sandbox, dict(spec.config)) == (None, None, None, None, {})
    assert TurnSpec("hello") == TurnSpec("hello", images=(), output_schema=None)


def test_every_failure_of_a_core_is_a_core_error() -> None:
    assert all(issubclass(kind, CoreError) for kind in (CoreLost, ThreadNotFound, BadThreadId, ConfigRefused))


def test_the_app_server_is_a_core() -> None:
    core: type[Core] = AppServer
    assert all(hasattr(core, name) for name in vars(Core) if not name.startswith("_"))


@given(st.uuids())
def test_every_spelling_that_codex_takes_is_the_same_thread(thread: uuid.UUID) -> None:
    spellings = (str(thread), str(thread).upper(), thread.hex, thread.urn, f"{{{thread}}}")
    assert {plain_id(spelling) for spelling in spellings} == {str(thread)}


@pytest.mark.parametrize(
    "text", ["", "no id at all", "codex:7", "0199", "0" * 31, "0" * 33, "\N{ARABIC-INDIC DIGIT ONE}" * 32]
)
def test_what_is_no_id_stays_what_it_is(text: str) -> None:
    assert plain_id(text) == text
