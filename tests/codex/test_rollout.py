"""The sandbox of a thread's last turn, from its rollout file."""

from pathlib import Path

import msgspec

from codex_mcp.codex.config.permissions import Grant
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.codex.rollout import read_rollout, sandbox_to_restore


def context(*roots: str, kind: str = "workspace-write") -> bytes:
    policy = {"type": kind, "writable_roots": roots}
    return msgspec.json.encode({"type": "turn_context", "payload": {"sandbox_policy": policy}}) + b"\n"


def roots_of(grant: Grant | None) -> object:
    assert grant is not None
    assert grant.policy is not None
    return grant.policy["writableRoots"]


def test_the_last_turn_counts(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    said = msgspec.json.encode({"type": "response_item", "payload": {"turn_context": "turn_context"}}) + b"\n"
    path.write_bytes(context("/first") + said + context("/last") + said)
    assert roots_of(sandbox_to_restore(ThreadSpec(), read_rollout(str(path)))) == ["/last"]


def test_a_line_that_is_half_written_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(context("/first") + context("/last")[:40])
    assert roots_of(sandbox_to_restore(ThreadSpec(), read_rollout(str(path)))) == ["/first"]


def test_a_later_turn_that_was_read_only_leaves_nothing_to_restore(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(context("/first") + context(kind="read-only"))
    assert sandbox_to_restore(ThreadSpec(), read_rollout(str(path))) is None


def test_a_sandbox_that_is_asked_for_replaces_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(context("/first"))
    assert sandbox_to_restore(ThreadSpec(sandbox="read-only"), read_rollout(str(path))) is None


def test_a_thread_without_a_readable_file_keeps_what_codex_gave_it(tmp_path: Path) -> None:
    assert sandbox_to_restore(ThreadSpec(), read_rollout(str(tmp_path / "missing.jsonl"))) is None
    assert sandbox_to_restore(ThreadSpec(), read_rollout(None)) is None
