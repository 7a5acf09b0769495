"""Pure. What a repository's file may decide without being trusted.

Who clones a repository and opens it has not agreed to what it says about their machine. So it may say how long to wait
and how much to tell, name its team, and lower limits. Everything else tells which program runs, where, with which
rights, who may come in, or who is told.
"""

import math
from collections.abc import Callable
from typing import Final

from codex_mcp.base.settings import Sandbox, Settings
from codex_mcp.config.layers import Layer, RawRole, Sourced, checked

MAY_COME_FROM_A_REPOSITORY: Final = frozenset(
    {
        "events",
        "protocol",
        "log_level",
        "approval_timeout",
        "soft_deadline",
        "progress_interval",
        "start_timeout",
        "request_timeout",
        "thread_idle",
        "interrupt_grace",
        "shutdown_grace",
        "max_turns_waiting",
        "finished_turns_kept",
        "team",
        "default_identity",
        "reasoning_effort",
        "summary_timeout",
    }
)

HARMLESS_IN_A_ROLE: Final = frozenset({"instructions", "reasoning_effort", "identity"})
"""What its roles may say; and `sandbox`, if that is the one that allows nothing."""

HOW_TO_TRUST: Final = "set CODEX_MCP_TRUST_REPO_SETTINGS=true if you trust this one"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf


def _unlimited_at_zero(value: object) -> float:
    return _number(value) or math.inf


MAY_BE_LOWERED: Final[dict[str, Callable[[object], float]]] = {
    "turn_timeout": _unlimited_at_zero,
    "max_concurrent_threads": _number,
    "auto_mail": _number,  # off is lower than on
    "turns_per_hour": _unlimited_at_zero,
    "tokens_per_thread": _unlimited_at_zero,
    "tokens_per_team": _unlimited_at_zero,
    "max_hops": _number,
}
"""What it may only make smaller than it is without it, and how high each value is."""


def untrusted(layer: Layer, below: Settings) -> tuple[Layer, list[str]]:
    """What remains of a repository's file, and a warning for everything that does not.

    `below` is what holds without it. Raises BadSetting for a value that is none.
    """
    warnings: list[str] = []
    values: dict[str, Sourced] = {}
    for name, raw in layer.values.items():
        if name in MAY_COME_FROM_A_REPOSITORY:
            values[name] = raw
        elif name in MAY_BE_LOWERED:
            height = MAY_BE_LOWERED[name]
            if height(checked(name, raw, layer.place).value) <= height(getattr(below, name)):
                values[name] = raw
            else:
                warnings.append(_not_heeded(raw.source, name, "may lower a limit, and not raise it"))
        else:
            warnings.append(_not_heeded(raw.source, name, "may not say what runs on this machine"))
    roles = {name: _harmless(name, role, warnings) for name, role in layer.roles.items()}
    return Layer(values, layer.place, roles), warnings


def _harmless(name: str, role: RawRole, warnings: list[str]) -> RawRole:
    kept: dict[str, object] = {}
    for key, value in role.table.items():
        if key.replace("-", "_") in HARMLESS_IN_A_ROLE or (key == "sandbox" and value == Sandbox.READ_ONLY):
            kept[key] = value
        else:
            what = f"{key} of the role {name}"
            warnings.append(_not_heeded(role.source_of(key), what, "may not give its roles any rights"))
    return RawRole(kept, role.source, role.key_sources)


def _not_heeded(source: str, what: str, why: str) -> str:
    return f"{source} sets {what}, which is not heeded: a repository {why}; {HOW_TO_TRUST}"
