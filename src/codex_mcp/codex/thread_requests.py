"""Pure. The requests with which threads are opened and turns are started."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from codex_mcp.codex.config.permissions import Grant
from codex_mcp.codex.config.sandbox_profile import TABLE, profile_of
from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.wire.app import requests


def setup_of(spec: ThreadSpec, grant: Grant | None = None) -> dict[str, Any]:
    """The fields of `requests.ThreadSetup`. The profile of a grant with entries is part of the configuration."""
    names = ("cwd", "model", "approval_policy", "sandbox", "base_instructions", "developer_instructions")
    config = dict(spec.config)
    if grant is not None and grant.policy is not None and grant.entries:
        config[TABLE] = profile_of(grant.policy, grant.entries)
    return {name: given(getattr(spec, name)) for name in names} | {"config": config or UNSET}


def opening_of(spec: ThreadSpec, setup: dict[str, Any]) -> tuple[str, requests.ThreadSetup]:
    """The request that opens a new thread."""
    if spec.fork is not None:
        before = given(spec.fork.before_turn)
        fork = requests.ThreadFork(thread_id=spec.fork.thread_id, exclude_turns=True, before_turn_id=before, **setup)
        return "thread/fork", fork
    start = requests.ThreadStart(
        **setup,
        environments=_environments(spec),
        experimental_raw_events=spec.raw_events,
        dynamic_tools=spec.tools,
    )
    return "thread/start", start


def turn_of(thread_id: str, spec: TurnSpec, thread: ThreadSpec) -> requests.TurnStart:
    changed = {} if spec.settings is None else msgspec.structs.asdict(spec.settings)
    thread = replace(thread, cwd=changed.get("cwd") or thread.cwd)
    return requests.TurnStart(
        thread_id,
        spec.input,
        client_user_message_id=spec.message_id or UNSET,
        output_schema=dict(spec.output_schema) if spec.output_schema is not None else UNSET,
        environments=_environments(thread) if spec.runs_commands or thread.environment is None else [],
        **{name: value for name, value in changed.items() if value is not None},
    )


def _environments(spec: ThreadSpec) -> list[requests.Environment] | UnsetType:
    # A thread that names no environment would get all of them.
    if spec.environment is None:
        return UNSET
    return [requests.Environment(spec.environment, spec.cwd or "/")]


def given(value: str | None) -> str | UnsetType:
    return UNSET if value is None else value
