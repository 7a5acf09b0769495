"""Pure. The calls of an old Codex's tools `codex` and `codex-reply`: their arguments and their errors.

An old Codex refuses unknown arguments, and releases differ in them. An argument that its list of tools lacks is left
out, or refused if the turn would otherwise do something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.codex.config.overrides import flattened, merged
from codex_mcp.codex.core import ConfigRefused, CoreError, CoreLost, ThreadSpec, TurnSettings, TurnSpec
from codex_mcp.codex.versions.measured import parse_version
from codex_mcp.rpc.errors import AnswerTooLong, ConnectionLost
from codex_mcp.wire.legacy import CallResult, Tools

START: Final = "codex"
REPLY: Final = "codex-reply"

EFFORT: Final = "model_reasoning_effort"

UNOWNED: Final = {
    "features.goals": False,
    "features.memories": False,
    "features.multi_agent": False,
    "features.multi_agent_v2": False,
    "approvals_reviewer": "user",
}
"""Switched off: goals, memories, sub-agents and Codex's own reviews of approvals send requests to the model of which an
old Codex tells us nothing, so that nobody could see, count or stop them. It ignores what it does not know."""

NO_SUBAGENTS: Final = {"agents.enabled": False}
"""Also needed for models that bring their own design of sub-agents."""

NO_SUBAGENTS_FROM: Final = (0, 145, 0)
"""Earlier releases take every key of `agents` for a role, and refuse this one; they do not have such models."""

Json = Mapping[str, object]


class Abilities(Struct, frozen=True):
    version: str
    arguments: Mapping[str, tuple[str, ...]]
    """The arguments of `codex` with the values that each may have; an empty tuple allows any."""


def abilities(version: str, tools: Tools) -> Abilities:
    """Read its list of tools. Raises CoreError if one of the two tools is missing."""
    found = {tool.name: tool.input_schema.properties for tool in tools.tools}
    if START not in found or REPLY not in found:
        raise CoreError(f"cannot use Codex {version}: its mcp-server does not offer the tools {START} and {REPLY}")
    return Abilities(version, {name: _words(schema) for name, schema in found[START].items()})


def start_arguments(spec: ThreadSpec, prompt: str, config: Json, able: Abilities) -> dict[str, object]:
    """The arguments for a new thread; `config` is the server's. Raises ConfigRefused."""
    wanted: dict[str, object | None] = {
        "prompt": prompt,
        "cwd": spec.cwd,
        "model": spec.model,
        "approval-policy": spec.approval_policy,
        "sandbox": spec.sandbox,
        "base-instructions": spec.base_instructions,
        "developer-instructions": spec.developer_instructions,
        "config": flattened(merged(config, spec.config, _unowned(able.version))),
    }
    given = {name: value for name, value in wanted.items() if value is not None and name in able.arguments}
    for name, value in given.items():
        words = able.arguments[name]
        if words and value not in words:
            raise ConfigRefused(
                f"{name} `{value}` is not known to Codex {able.version}, which knows {', '.join(words)}"
            )
    return given


def _unowned(version: str) -> Json:
    return UNOWNED | (NO_SUBAGENTS if (parse_version(version) or NO_SUBAGENTS_FROM) >= NO_SUBAGENTS_FROM else {})


def reply_arguments(thread_id: str, prompt: str) -> dict[str, object]:
    return {"threadId": thread_id, "prompt": prompt}


def failure_of(outcome: Raw | BaseException) -> CoreError | None:
    """Why a call failed, if it did; `outcome` is its result or its error."""
    match outcome:
        case ConnectionLost():
            return CoreLost("Codex ended before the turn had ended")
        case AnswerTooLong():
            return None  # it repeats what the events have said
        case BaseException():
            return CoreError(str(outcome))
    try:
        result = msgspec.json.decode(outcome, type=CallResult)
    except msgspec.MsgspecError as exc:
        return CoreError(f"Codex answered in a form that this release cannot read: {exc}")
    return CoreError(result.text or "Codex did not say why") if result.is_error else None


def denial(why: str) -> dict[str, object]:
    """The answer to a question that cannot be passed on."""
    return {"decision": {"denied": {"rejection": f"rejected: {why}"}}}


def left_out(spec: ThreadSpec, able: Abilities) -> list[str]:
    """The requested arguments that this Codex does not have. Raises CoreError if it cannot do without."""
    if spec.fork is not None:
        raise CoreError(f"Codex {able.version} cannot fork a conversation; use Codex 0.163 or newer")
    asked = {
        "base-instructions": spec.base_instructions,
        "developer-instructions": spec.developer_instructions,
        "approval-policy": spec.approval_policy,
        "sandbox": spec.sandbox,
        "model": spec.model,
    }
    return [name for name, value in asked.items() if value is not None and name not in able.arguments]


def check_turn(spec: TurnSpec, thread: ThreadSpec, version: str) -> None:
    """Raise CoreError for features that this Codex lacks."""
    changed = spec.settings or TurnSettings()
    lacking = [
        name
        for name, asked in (
            ("images", bool(spec.images)),
            ("output schemas", spec.output_schema is not None),
            ("exec-servers", thread.environment is not None),
            ("reviews", spec.review is not None),
            ("rollback", bool(spec.rollback)),
            ("change of the model in a conversation", changed.model not in (None, thread.model)),
            ("change of the effort in a conversation", changed.effort not in (None, thread.config.get(EFFORT))),
        )
        if asked
    ]
    if lacking:
        raise CoreError(
            f"Codex {version} knows no {' and no '.join(lacking)}; leave that out, "
            "or use a newer Codex (remove codex_version, codex_bin and backend)"
        )


def _words(schema: Json) -> tuple[str, ...]:
    words = schema.get("enum")
    return tuple(map(str, words)) if isinstance(words, list) else ()
