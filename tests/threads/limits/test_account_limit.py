"""An account that has reached its limit: nobody sends it requests until that ends, and then one turn tries."""

import time

import pytest

from codex_mcp.codex.core import ThreadSpec, TurnSpec, WhenLimited
from codex_mcp.codex.facts import Fact, Tokens, TokensCounted, TurnEnded, TurnStarted
from codex_mcp.threads.limits.account import Account
from codex_mcp.threads.limits.rate_limits import NONE_KNOWN, RateLimits, Window
from codex_mcp.threads.record import USAGE_LIMIT, TurnError
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.app.notifications import OtherNotification, RateLimitsUpdated
from tests.support.core.cores import Watcher

BEGUN = TurnStarted("t", "t")
USED = TokensCounted("t", Tokens(total_tokens=1), Tokens(total_tokens=1))
REFUSED = TurnEnded("t", "failed", "no", "usage_limit_exceeded")
DONE = TurnEnded("t", "completed", None)
STOPPED = TurnEnded("t", "interrupted", None)


class Paying:
    """A thread."""

    def __init__(self, **config: object) -> None:
        self.spec = ThreadSpec(config=config)


def turn(*facts: Fact, when_limited: WhenLimited = WhenLimited.FAIL) -> Turn:
    """A turn of which this is known."""
    made = Turn("thread", TurnSpec(when_limited=when_limited), Watcher(), full_events=False)
    for fact in facts:
        made.add(fact)
    return made


def limited(end: int | None) -> Account:
    """The account after a turn that was refused, with a limit that ends then."""
    account = Account(())
    if end is not None:
        half = Window(used_percent=50, window_duration_mins=60, resets_at=end + 9)
        account.rate_limits = RateLimits(primary=Window(used_percent=100, resets_at=end), secondary=half)
    account.turn_ended(Paying(), turn(BEGUN, REFUSED))
    return account


END = int(time.time()) + 3600


async def test_no_turn_begins_before_the_limit_ends_and_then_one_tries() -> None:
    account, one, other, trial = limited(END), Paying(), Paying(), turn(BEGUN)
    assert "which ends in 10 min" in account.admit(one, trial, END - 600)
    assert account.why_not(one, END) == account.why_not(other, END) == ""  # to look is not to try
    assert account.admit(one, trial, END) == ""
    assert "another turn finds out" in account.admit(other, turn(), END + 1)
    assert account.admit(one, trial, END + 1) == account.why_not(one, END + 1) == ""
    account.tokens_counted()
    assert account.is_limited
    trial.add(USED)
    account.tokens_counted()
    assert account.admit(other, turn(), END + 1) == ""
    assert not account.is_limited


@pytest.mark.parametrize("end", [STOPPED, DONE])
async def test_a_turn_that_tries_in_vain_is_followed_by_another(end: TurnEnded) -> None:
    account, trial, other = limited(END), turn(BEGUN), Paying()
    assert account.admit(Paying(), trial, END) == ""
    trial.add(end)
    account.turn_ended(Paying(), trial)
    assert account.is_limited
    assert account.admit(other, turn(), END) == ""


async def test_a_turn_that_began_before_the_limit_does_not_end_it() -> None:
    account = limited(END)
    late = turn(BEGUN, USED, DONE)
    account.tokens_counted()
    account.turn_ended(Paying(), late)
    assert account.admit(Paying(), turn(), END - 1) != ""


async def test_if_it_is_not_known_when_the_limit_ends_a_person_decides() -> None:
    account, one = limited(None), Paying()
    assert "when that ends is not known" in account.admit(one, turn(), END)
    trial = turn(BEGUN, when_limited=WhenLimited.TRY)
    assert account.admit(one, trial, END) == ""
    assert account.why_not(Paying(), END) != ""
    trial.add(USED)
    account.tokens_counted()
    assert account.why_not(Paying(), END) == ""


def reported(**windows: object) -> RateLimitsUpdated:
    return RateLimitsUpdated(rate_limits=windows)


async def test_an_answer_that_says_nothing_of_limits_does_not_erase_them() -> None:
    account, refused = limited(END), turn(BEGUN, REFUSED)
    account.core_told(reported(primary=None, secondary=None, planType=None))
    assert account.explained(refused.outcome).error == TurnError(USAGE_LIMIT, resets_at=END)
    account.core_told(OtherNotification("account/updated", {}))
    assert account.rate_limits == NONE_KNOWN


async def test_the_end_of_a_limit_may_be_reported_after_the_refusal() -> None:
    account = limited(None)
    account.core_told(reported(primary={"usedPercent": 100, "resetsAt": END}))
    assert "which ends in 10 min" in account.why_not(Paying(), END - 600)
    account.core_told(reported(primary={"usedPercent": 100, "resetsAt": END + 60}))
    assert account.paused_until == END


async def test_another_sign_in_has_limits_of_its_own() -> None:
    account = limited(None)
    account.core_told(OtherNotification("account/updated", {}))
    assert account.why_not(Paying(), END) == ""


async def test_a_thread_with_a_provider_of_its_own_is_not_concerned() -> None:
    account, other = limited(None), Paying(model_provider="mine")
    assert account.admit(other, turn(), END) == ""
    account = Account(())
    account.turn_ended(other, turn(BEGUN, REFUSED))
    assert account.admit(Paying(), turn(), END) == ""


async def test_a_result_says_when_the_limit_ends() -> None:
    account, refused = limited(END), turn(BEGUN, REFUSED)
    assert account.explained(refused.outcome).error == TurnError(USAGE_LIMIT, resets_at=END)
    done = turn(BEGUN, DONE).outcome
    assert account.explained(done) is done
