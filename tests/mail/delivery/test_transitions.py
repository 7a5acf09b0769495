from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.delivery.transitions import MailProgress, MailStep, Stage, after, is_deliverable, is_redelivery

OFFERED, STARTED, READ = MailProgress(Stage.OFFERED, 1), MailProgress(Stage.STARTED, 1), MailProgress(Stage.READ, 1)

TABLE = {
    (None, MailStep.OFFER): OFFERED,
    (None, MailStep.START): STARTED,
    (None, MailStep.FINISH): MailProgress(Stage.READ, 0),
    (None, MailStep.WITHDRAW): None,
    (OFFERED, MailStep.OFFER): MailProgress(Stage.OFFERED, 2),
    (OFFERED, MailStep.START): STARTED,
    (OFFERED, MailStep.FINISH): READ,
    (OFFERED, MailStep.WITHDRAW): None,
    (STARTED, MailStep.OFFER): MailProgress(Stage.OFFERED, 2),
    (STARTED, MailStep.START): STARTED,
    (STARTED, MailStep.FINISH): READ,
    (STARTED, MailStep.WITHDRAW): STARTED,
    (READ, MailStep.OFFER): READ,
    (READ, MailStep.START): READ,
    (READ, MailStep.FINISH): READ,
    (READ, MailStep.WITHDRAW): READ,
}


@pytest.mark.parametrize(("progress", "step"), list(product([None, OFFERED, STARTED, READ], MailStep)))
def test_the_table(progress: MailProgress | None, step: MailStep) -> None:
    assert after(progress, step) == TABLE[progress, step]


def test_a_refusal_does_not_undo_an_offer_of_which_the_end_is_unknown() -> None:
    assert after(MailProgress(Stage.OFFERED, 2), MailStep.WITHDRAW) == OFFERED


@given(st.lists(st.sampled_from(MailStep)))
def test_a_message_that_may_have_been_delivered_says_so(steps: list[MailStep]) -> None:
    progress: MailProgress | None = None
    open_offers = 0
    for step in steps:
        if step is MailStep.OFFER and is_deliverable(progress):
            assert is_redelivery(progress) is (open_offers > 0)
            open_offers += 1
        if step is MailStep.START:
            open_offers = max(open_offers, 1)
        if step is MailStep.WITHDRAW and progress is not None and progress.stage is Stage.OFFERED:
            open_offers -= 1
        progress = after(progress, step)
        if step is MailStep.FINISH:
            assert not is_deliverable(progress)
