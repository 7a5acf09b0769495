import pytest

from codex_mcp.mail.resending import CHECKS, MOST_WRITES, Action, Sent, Stage, look_after, next_action

INTENDED = Sent(stage=Stage.INTENDED, is_rechecked=True)
WRITTEN = Sent(stage=Stage.WRITTEN, is_rechecked=True, writes=1)


@pytest.mark.parametrize("is_rechecked", [True, False])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_sender_that_died_before_the_rename_is_replaced(*, is_rechecked: bool, is_there: bool) -> None:
    sent = Sent(stage=Stage.INTENDED, is_rechecked=is_rechecked)
    assert next_action(sent, has_draft=True, is_there=is_there) is Action.WRITE


def test_a_message_that_is_there_is_looked_for_a_few_times() -> None:
    actions = [
        next_action(Sent(stage=Stage.WRITTEN, is_rechecked=True, checks=checks), has_draft=False, is_there=True)
        for checks in range(len(CHECKS))
    ]
    assert actions == [Action.LOOK_AGAIN] * (len(CHECKS) - 1) + [Action.DONE]
    assert [look_after(checks) for checks in range(4)] == [0.3, 2.0, 2.0, 2.0]


@pytest.mark.parametrize("sent", [INTENDED, WRITTEN])
def test_a_message_that_is_gone_is_written_again(sent: Sent) -> None:
    assert next_action(sent, has_draft=False, is_there=False) is Action.WRITE


def test_not_for_ever() -> None:
    sent = Sent(stage=Stage.WRITTEN, is_rechecked=True, writes=MOST_WRITES)
    assert next_action(sent, has_draft=False, is_there=False) is Action.GIVE_UP


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("is_there", [True, False])
def test_where_claude_code_reads_a_missing_message_was_consumed(stage: Stage, *, is_there: bool) -> None:
    sent = Sent(stage=stage, is_rechecked=False)
    assert next_action(sent, has_draft=False, is_there=is_there) is Action.DONE
