"""An account that has reached its limit: nobody sends it requests until that ends, and then one turn tries."""

import time

from codex_mcp.codex.facts import Tokens
from codex_mcp.threads.limits.account import TRIAL, Account
from codex_mcp.threads.limits.rate_limits import RateLimits, Window
from codex_mcp.threads.record import USAGE_LIMIT, Outcome, Status, TurnError

REFUSED = Outcome("t", Status.FAILED, "no", "", None, (), 1.0, error=TurnError(USAGE_LIMIT))
DONE = Outcome("t", Status.COMPLETED, "done", "", Tokens(total_tokens=1), (), 1.0)


def limited() -> tuple[Account, int]:
    account, end = Account(()), int(time.time()) + 3600
    account.rate_limits = RateLimits(primary=Window(used_percent=100, resets_at=end), secondary=Window(50, 60, end + 9))
    account.turn_ended(REFUSED)
    return account, end


def test_no_turn_begins_before_the_limit_ends_and_then_one_tries() -> None:
    account, end = limited()
    assert "which ends in 10 min" in account.admit(end - 600)
    assert account.admit(end) == ""
    assert account.admit(end + 1) != ""  # while the first one tries
    account.turn_ended(DONE)
    assert account.admit(end + 2) == account.why_not(end + 2) == ""


def test_a_trial_that_comes_to_nothing_is_followed_by_another() -> None:
    account, end = limited()
    assert account.admit(end) == ""
    assert account.admit(end + TRIAL) == ""


def test_to_look_is_not_to_try() -> None:
    account, end = limited()
    assert account.why_not(end) == account.why_not(end) == account.admit(end) == ""


def test_a_result_says_when_the_limit_ends() -> None:
    account, end = limited()
    assert account.explained(REFUSED).error == TurnError(USAGE_LIMIT, resets_at=end)
    assert account.explained(DONE) is DONE
