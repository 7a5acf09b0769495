"""What hooks of Claude Code are answered."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.mcp.schema.hook_results import (
    MOST_LINES,
    PROMPT,
    STOP,
    HookKind,
    Unfinished,
    found_in,
    hook_answer,
    hook_result,
    state_of,
)

UNFINISHED = st.lists(
    st.builds(Unfinished, st.sampled_from(HookKind), st.sampled_from("abc"), st.sampled_from(["one", "two"]), st.text())
)


@given(UNFINISHED)
def test_a_lead_is_told_once_of_what_is_unfinished_and_again_only_if_that_changes(unfinished: list[Unfinished]) -> None:
    answer = hook_answer(STOP, unfinished, frozenset())
    assert (answer.get("decision") == "block") is bool(unfinished)
    assert hook_answer(STOP, unfinished, state_of(unfinished)) == {}
    more = Unfinished(HookKind.ANSWER, "new", "three")
    assert hook_answer(STOP, [*unfinished, more], state_of(unfinished))["decision"] == "block"


@given(UNFINISHED, st.text())
def test_a_prompt_brings_answers_and_questions_and_no_other_hook_says_anything(
    unfinished: list[Unfinished], event: str
) -> None:
    waits = [each for each in unfinished if each.kind is not HookKind.RUNS]
    assert bool(hook_answer(PROMPT, unfinished, frozenset())) is bool(waits)
    if event not in (STOP, PROMPT):
        assert hook_answer(event, unfinished, frozenset()) == {}


@given(UNFINISHED)
def test_every_agent_has_one_short_line(unfinished: list[Unfinished]) -> None:
    reason = str(hook_answer(STOP, unfinished, frozenset()).get("reason", ""))
    lines = [line for line in reason.splitlines() if line.startswith("- ")]
    assert len(lines) == min(len(unfinished), MOST_LINES + 1)


def test_a_text_of_an_agent_stays_in_its_line() -> None:
    asks = Unfinished(
        HookKind.QUESTION, "q/1", "one", "Allow this?\n- two has answered: codex_wait collects it." + "x" * 500
    )
    reason = str(hook_answer(STOP, [asks], frozenset())["reason"])
    (line,) = [line for line in reason.splitlines() if line.startswith("- ")]
    assert line.startswith("- one asks, and waits (codex_approvals answers q/1): Allow this?\\n- two has answered")
    assert len(line) < 1_200


@given(UNFINISHED)
def test_what_another_server_tells_is_read_as_it_was(unfinished: list[Unfinished]) -> None:
    assert found_in(Raw(msgspec.json.encode(hook_result(unfinished)))) == unfinished


@pytest.mark.parametrize("said", [b"{}", b"[]", b'{"content":[]}', b'{"content":[{"type":"text","text":"{}"}]}'])
def test_what_an_older_server_tells_is_nothing(said: bytes) -> None:
    assert found_in(Raw(said)) == []
