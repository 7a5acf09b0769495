from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.delivery.transitions import Progress, Stage, Step, after, is_deliverable, is_redelivery

OFFERED, STARTED, READ = Progress(Stage.OFFERED, 1), Progress(Stage.STARTED, 1), Progress(Stage.READ, 1)

TABLE = {
    (None, Step.OFFER): OFFERED,
    (None, Step.START): STARTED,
    (None, Step.FINISH): Progress(Stage.READ, 0),
    (None, Step.WITHDRAW): None,
    (OFFERED, Step.OFFER): Progress(Stage.OFFERED, 2),
    (OFFERED, Step.START): STARTED,
    (OFFERED, Step.FINISH): READ,
    (OFFERED, Step.WITHDRAW): None,
    (STARTED, Step.OFFER): Progress(Stage.OFFERED, 2),
    (STARTED, Step.START): STARTED,
    (STARTED, Step.FINISH): READ,
    (STARTED, Step.WITHDRAW): STARTED,
    (READ, Step.OFFER): READ,
    (READ, Step.START): READ,
    (READ, Step.FINISH): READ,
    (READ, Step.WITHDRAW): READ,
}


@pytest.mark.parametrize(("progress", "step"), list(product([None, OFFERED, STARTED, READ], Step)))
def test_the_table(progress: Progress | None, step: Step) -> None:
    assert after(progress, step) == TABLE[progress, step]


def test_a_refusal_does_not_undo_an_offer_of_which_the_end_is_unknown() -> None:
    assert after(Progress(Stage.OFFERED, 2), Step.WITHDRAW) == OFFERED


@given(st.lists(st.sampled_from(Step)))
def test_a_message_that_may_have_been_delivered_says_so(steps: list[Step]) -> None:
    progress: Progress | None = None
    open_offers = 0
    for step in steps:
        if step is Step.OFFER and is_deliverable(progress):
            assert is_redelivery(progress) is (open_offers > 0)
            open_offers += 1
        if step is Step.START:
            open_offers = max(open_offers, 1)
        if step is Step.WITHDRAW and progress is not None and progress.stage is Stage.OFFERED:
            open_offers -= 1
        progress = after(progress, step)
        if step is Step.FINISH:
            assert not is_deliverable(progress)
