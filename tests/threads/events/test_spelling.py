"""Spellings: what the app-server writes, and what 0.153.4 wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.threads.events.spelling import (
    decision,
    duration,
    error,
    error_info,
    file_url,
    present,
    rate_limits,
    snake,
    snake_keys,
    token_info,
)
from codex_mcp.wire.app.items import Failure, TokenCounts, TokenUsage


@pytest.mark.parametrize(
    ("camel", "expected"),
    [
        ("other", "other"),
        ("usageLimitExceeded", "usage_limit_exceeded"),
        ("unifiedExecStartup", "unified_exec_startup"),
        ("gpt5Limit", "gpt5_limit"),
        ("already_snake", "already_snake"),
        ("", ""),
    ],
)
def test_names_become_snake_case(camel: str, expected: str) -> None:
    assert snake(camel) == expected


@given(st.text())
def test_a_name_stays_what_it_became(name: str) -> None:
    assert snake(snake(name)) == snake(name)


def test_keys_are_renamed_at_every_depth_and_values_are_not() -> None:
    assert snake_keys({"aB": [{"cD": "eF"}], "g": 1}) == {"a_b": [{"c_d": "eF"}], "g": 1}


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (None, None),
        ("contextWindowExceeded", "context_window_exceeded"),
        (
            {"responseTooManyFailedAttempts": {"httpStatusCode": 429}},
            {"response_too_many_failed_attempts": {"http_status_code": 429}},
        ),
        ({"activeTurnNotSteerable": {"turnKind": "review"}}, {"active_turn_not_steerable": {"turn_kind": "review"}}),
    ],
)
def test_errors_keep_their_kind(info: object, expected: object) -> None:
    assert error_info(info) == expected
    assert error(Failure("oh", info)) == {"message": "oh", "codex_error_info": expected}


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        ("accept", "approved"),
        ("acceptForSession", "approved_for_session"),
        ("decline", "denied"),
        ("cancel", "abort"),
        ("somethingNew", "something_new"),
        (
            {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["make", "docs"]}},
            {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["make", "docs"]}},
        ),
        (
            {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "h", "action": "allow"}}},
            {"network_policy_amendment": {"network_policy_amendment": {"host": "h", "action": "allow"}}},
        ),
        ({"newWay": {"withTerms": 1}}, {"new_way": {"with_terms": 1}}),
        (None, None),
    ],
)
def test_decisions_are_offered_in_the_words_that_clients_answer_with(offered: object, expected: object) -> None:
    assert decision(offered) == expected


def test_token_counts() -> None:
    entry = TokenCounts(7, 2, 3, 1, 10)
    tokens = {
        "input_tokens": 7,
        "cached_input_tokens": 2,
        "cache_write_input_tokens": 0,
        "output_tokens": 3,
        "reasoning_output_tokens": 1,
        "total_tokens": 10,
    }
    info = {"total_token_usage": tokens, "last_token_usage": tokens, "model_context_window": None}
    assert token_info(TokenUsage(entry, entry)) == info


def test_rate_limits_keep_their_old_names() -> None:
    window = {"usedPercent": 1, "windowDurationMins": 300, "resetsAt": None}
    credit = {"hasCredits": True, "unlimited": False, "balance": "3"}
    assert rate_limits({"limitId": "codex", "primary": window, "credits": credit, "normalModelSlug": "x"}) == {
        "limit_id": "codex",
        "primary": {"used_percent": 1, "window_minutes": 300, "resets_at": None},
        "credits": {"has_credits": True, "unlimited": False, "balance": "3"},
    }


@pytest.mark.parametrize(
    ("milliseconds", "expected"), [(None, (0, 0)), (-5, (0, 0)), (1250, (1, 250_000_000)), (3000, (3, 0))]
)
def test_durations(milliseconds: int | None, expected: tuple[int, int]) -> None:
    assert duration(milliseconds) == {"secs": expected[0], "nanos": expected[1]}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/ada/site", "file:///home/ada/site"),
        ("/home/ada/my site#1?", "file:///home/ada/my%20site%231%3F"),
        ("/h/naïve", "file:///h/na%C3%AFve"),
        ("C:\\Users\\ada", "file:///C:/Users/ada"),
        ("file:///already", "file:///already"),
        ("relative/path", "relative/path"),
        ("", ""),
    ],
)
def test_folders_are_named_by_address(path: str, expected: str) -> None:
    assert file_url(path) == expected


def test_what_is_not_there_is_left_out() -> None:
    assert present(a=1, b=None, c="", d=False) == {"a": 1, "c": "", "d": False}
