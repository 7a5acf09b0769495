"""Pure. What an old Codex is given: the arguments of its tools `codex` and `codex-reply`, and a no to its questions.

It refuses a name that it does not know, and the names differ between releases: whatever its own list of tools does not
have is left out, or refused where leaving it out would do something else than was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.codex.config.overrides import flattened, merged
from codex_mcp.codex.core import ConfigRefused, CoreError, ThreadSpec, TurnSpec
from codex_mcp.wire.legacy import Tools

START: Final = "codex"
REPLY: Final = "codex-reply"

Json = Mapping[str, object]


class Abilities(Struct, frozen=True):
    """What this Codex takes."""

    version: str
    arguments: Mapping[str, tuple[str, ...]]
    """The arguments of `codex`, and the words that each may be; none: any."""


def abilities(version: str, tools: Tools) -> Abilities:
    """Read its list of tools. Raises CoreError if this is not the server that we know."""
    found = {tool.name: tool.input_schema.properties for tool in tools.tools}
    if START not in found or REPLY not in found:
        raise CoreError(f"cannot use Codex {version}: its mcp-server does not offer the tools {START} and {REPLY}")
    return Abilities(version, {name: _words(schema) for name, schema in found[START].items()})


def start_arguments(spec: ThreadSpec, prompt: str, config: Json, able: Abilities) -> dict[str, object]:
    """The arguments of `codex` for a new thread; `config` is what the server was started with. Raises ConfigRefused."""
    wanted: dict[str, object | None] = {
        "prompt": prompt,
        "cwd": spec.cwd,
        "model": spec.model,
        "approval-policy": spec.approval_policy,
        "sandbox": spec.sandbox,
        "base-instructions": spec.base_instructions,
        "developer-instructions": spec.developer_instructions,
        "config": flattened(merged(config, spec.config)) or None,
    }
    given = {name: value for name, value in wanted.items() if value is not None and name in able.arguments}
    for name, value in given.items():
        words = able.arguments[name]
        if words and value not in words:
            raise ConfigRefused(
                f"{name} `{value}` is not known to Codex {able.version}, which knows {', '.join(words)}"
            )
    return given


def reply_arguments(thread_id: str, prompt: str) -> dict[str, object]:
    """The arguments of `codex-reply`."""
    return {"threadId": thread_id, "prompt": prompt}


def denial(why: str) -> dict[str, object]:
    """The answer to a question that is handed on to nobody."""
    return {"decision": {"denied": {"rejection": f"rejected: {why}"}}}


def left_out(spec: ThreadSpec, able: Abilities) -> list[str]:
    """What was asked for and is not given, since this Codex has no such argument."""
    asked = {
        "base-instructions": spec.base_instructions,
        "developer-instructions": spec.developer_instructions,
        "approval-policy": spec.approval_policy,
        "sandbox": spec.sandbox,
        "model": spec.model,
    }
    return [name for name, value in asked.items() if value is not None and name not in able.arguments]


def check_turn(spec: TurnSpec, thread: ThreadSpec, version: str) -> None:
    """Refuse what this Codex cannot do at all. Raises CoreError."""
    lacking = [
        name
        for name, asked in (
            ("images", bool(spec.images)),
            ("output schemas", spec.output_schema is not None),
            ("exec-servers", thread.environment is not None),
        )
        if asked
    ]
    if lacking:
        raise CoreError(
            f"Codex {version} knows no {' and no '.join(lacking)}; leave that out, "
            "or use a newer Codex (remove codex_bin and backend)"
        )


def _words(schema: Json) -> tuple[str, ...]:
    words = schema.get("enum")
    return tuple(map(str, words)) if isinstance(words, list) else ()
