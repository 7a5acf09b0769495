"""Pure. Converts the app-server's spellings to those of `codex/event`: names, errors, decisions, limits, durations."""

from __future__ import annotations

import functools
import re
from typing import Final
from urllib.parse import quote

from codex_mcp.wire.app.items import Failure, TokenCounts, TokenUsage

# Characters of a path that are not percent-encoded in a `file://` URL (WHATWG URL, path set).
PATH_SAFE: Final = "/:@!$&'()*+,;=[]|^~-._\\"

DECISIONS: Final = {
    "accept": "approved",
    "acceptForSession": "approved_for_session",
    "decline": "denied",
    "cancel": "abort",
}

# The decisions that carry data: the new name, and the old and new name of the field inside.
DECISIONS_WITH_TERMS: Final = {
    "acceptWithExecpolicyAmendment": (
        "approved_execpolicy_amendment",
        "execpolicy_amendment",
        "proposed_execpolicy_amendment",
    ),
    "applyNetworkPolicyAmendment": (
        "network_policy_amendment",
        "network_policy_amendment",
        "network_policy_amendment",
    ),
}

NAMES_REMEMBERED: Final = 512
"""More than Codex has field names; every turn uses the same two dozen."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")


@functools.lru_cache(maxsize=NAMES_REMEMBERED)
def snake(name: str) -> str:
    """`usageLimitExceeded` is `usage_limit_exceeded`."""
    return _HUMP.sub("_", name).lower()


def snake_keys(value: object) -> object:
    """The same JSON value with every key in snake_case, at every depth."""
    if isinstance(value, dict):
        return {snake(str(key)): snake_keys(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [snake_keys(inner) for inner in value]
    return value


def error_info(info: object) -> object:
    """A codexErrorInfo: a name, or a name with details."""
    return snake(info) if isinstance(info, str) else snake_keys(info)


def error(failure: Failure) -> dict[str, object]:
    """A failure as in `error` and task_complete."""
    return {"message": failure.message, "codex_error_info": error_info(failure.codex_error_info)}


def decision(offered: object) -> object:
    """One of availableDecisions, in the words that clients answer with."""
    if isinstance(offered, str):
        return DECISIONS.get(offered, snake(offered))
    if isinstance(offered, dict) and len(offered) == 1:
        [(name, terms)] = offered.items()
        if name in DECISIONS_WITH_TERMS and isinstance(terms, dict):
            new_name, inner, new_inner = DECISIONS_WITH_TERMS[name]
            return {new_name: {new_inner: terms.get(inner)}}
    return snake_keys(offered)


def tokens(counts: TokenCounts) -> dict[str, object]:
    return {
        "input_tokens": counts.input_tokens,
        "cached_input_tokens": counts.cached_input_tokens,
        "cache_write_input_tokens": counts.cache_write_input_tokens,
        "output_tokens": counts.output_tokens,
        "reasoning_output_tokens": counts.reasoning_output_tokens,
        "total_tokens": counts.total_tokens,
    }


def token_info(usage: TokenUsage) -> dict[str, object]:
    return {
        "total_token_usage": tokens(usage.total),
        "last_token_usage": tokens(usage.last),
        "model_context_window": usage.model_context_window,
    }


def rate_limits(limits: dict[str, object]) -> dict[str, object]:
    """The `rate_limits` of a token_count, where the window's length has a shorter name."""
    return {snake(name): _window(snake_keys(value)) for name, value in limits.items() if name != "normalModelSlug"}


def _window(value: object) -> object:
    if isinstance(value, dict) and "window_duration_mins" in value:
        return {("window_minutes" if key == "window_duration_mins" else key): inner for key, inner in value.items()}
    return value


def duration(milliseconds: int | None) -> dict[str, object]:
    """A duration as Rust serialises it."""
    seconds, rest = divmod(max(0, milliseconds or 0), 1000)
    return {"secs": seconds, "nanos": rest * 1_000_000}


def file_url(path: str) -> str:
    """Events have a command's folder as a URL, approvals as a path."""
    if _DRIVE.match(path):
        path = "/" + path.replace("\\", "/")
    return "file://" + quote(path, safe=PATH_SAFE) if path.startswith("/") else path


def present(**fields: object) -> dict[str, object]:
    """The fields that are not None: 0.153.4 omits the others."""
    return {name: value for name, value in fields.items() if value is not None}
