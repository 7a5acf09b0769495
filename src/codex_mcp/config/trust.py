"""Pure. Which settings of a repository's file apply although the repository is not trusted.

A person who clones and opens a repository has not agreed to its settings. So it may name its team and agents, and
tighten limits within bounds. Every other setting decides which program runs, where, with which rights, who may connect,
who is notified, or what is logged.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import BadSetting, Notice
from codex_mcp.base.settings.kinds import Events, Protocol, Sandbox
from codex_mcp.config.layers import Layer, RawTable, Sourced, checked

MAY_COME_FROM_A_REPOSITORY: Final = frozenset({"team", "default_identity", "reasoning_effort"})
"""Names, on which no limit depends."""

HARMLESS_IN_A_ROLE: Final = frozenset({"instructions", "reasoning_effort", "identity"})
TAKES_AWAY: Final = (("sandbox", Sandbox.READ_ONLY), ("auto_mail", False), ("goals", False), ("subagents", False))
"""What its roles may set."""

HOW_TO_TRUST: Final = "set CODEX_MCP_TRUST_REPO_SETTINGS=true if you trust this one"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf


def _unlimited_at_zero(value: object) -> float:
    return _number(value) or math.inf


def _soft_deadline(value: object) -> float:
    """Never (0) is higher than by client (None), which is higher than any number."""
    return 1e9 if value is None else _unlimited_at_zero(value)


def _rarer(value: object) -> float:
    return -_number(value)


def _events(value: object) -> float:
    """By client (None) is higher than none, and lower than any other."""
    return 0.5 if value is None else (Events.NONE, Events.STANDARD, Events.FULL).index(Events(str(value)))


def _eras(value: object) -> float:
    return (Protocol.LEGACY, Protocol.BOTH).index(Protocol(str(value)))


class Limit(Struct, frozen=True):
    """How high a value counts: a repository may choose a lower one, down to `floor`."""

    height: Callable[[object], float] = _number
    floor: float = -math.inf


MAY_BE_TIGHTENED: Final[dict[str, Limit]] = {
    "events": Limit(_events),
    "protocol": Limit(_eras),
    "approval_timeout": Limit(),
    "soft_deadline": Limit(_soft_deadline),
    "progress_interval": Limit(_rarer),
    "start_timeout": Limit(floor=1),  # Codex takes some time to start and to answer
    "request_timeout": Limit(floor=1),
    "thread_idle": Limit(floor=10),  # loading a thread again costs more than keeping it
    "interrupt_grace": Limit(),
    "shutdown_grace": Limit(),
    "max_turns_waiting": Limit(),
    "finished_turns_kept": Limit(),
    "turn_timeout": Limit(_unlimited_at_zero),
    "max_concurrent_threads": Limit(),
    "auto_mail": Limit(),  # off is lower than on
    "max_messages": Limit(),
    "max_message_length": Limit(),
    "turns_per_hour": Limit(_unlimited_at_zero),
    "tokens_per_thread": Limit(_unlimited_at_zero),
    "tokens_per_team": Limit(_unlimited_at_zero),
    "max_hops": Limit(),
    "summary_timeout": Limit(),
}
"""What a repository may tighten."""


def untrusted(layer: Layer, below: Mapping[str, object]) -> tuple[Layer, list[Notice]]:
    """What applies of a repository's file, and a warning for everything else.

    `below` has the values that apply without the file.
    """
    warnings: list[Notice] = []
    values: dict[str, Sourced[object]] = {}
    for name, raw in layer.values.items():
        if why_not := _refusal(name, raw, layer, below):
            warnings.append(why_not)
        else:
            values[name] = raw
    roles = {name: _harmless(name, role, warnings) for name, role in layer.roles.items()}
    for name, table in layer.environments.items():
        what = f"the environment {name}"
        warnings.append(_ignored(table.source, what, "may not decide where commands run"))
    return Layer(values, layer.place, roles), warnings


def _refusal(name: str, raw: Sourced[object], layer: Layer, below: Mapping[str, object]) -> Notice | None:
    """Why a value is ignored; None if it applies."""
    limit = MAY_BE_TIGHTENED.get(name)
    if limit is None and name not in MAY_COME_FROM_A_REPOSITORY:
        return _ignored(raw.source, name, "may not decide what runs on this machine")
    try:
        value = checked(name, raw, layer.place).value
    except BadSetting as error:
        return Notice(f"{error}; it is ignored")
    if limit is None:
        return None
    height = limit.height(value)
    if height > limit.height(below[name]):
        return _ignored(raw.source, name, "may lower a limit, not raise it")
    if height < limit.floor:
        return _ignored(raw.source, name, f"may not set less than {limit.floor:g}")
    return None


def _harmless(name: str, role: RawTable, warnings: list[Notice]) -> RawTable:
    kept: dict[str, object] = {}
    for key, value in role.table.items():
        word = key.replace("-", "_")
        if word in HARMLESS_IN_A_ROLE or (word, value) in TAKES_AWAY:
            kept[key] = value
        else:
            what = f"{key} of the role {name}"
            warnings.append(_ignored(role.source_of(key), what, "may not give its roles any rights"))
    return RawTable(kept, role.source, role.key_sources)


def _ignored(source: str, what: str, why: str) -> Notice:
    return Notice(f"{source} sets {what}, which is ignored: a repository {why}", HOW_TO_TRUST)
