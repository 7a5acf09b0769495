"""The sandbox of a thread's last turn, and its tokens, from its rollout file."""

from pathlib import Path

import msgspec

from codex_mcp.codex.config.permissions import Grant
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.codex.facts import Tokens
from codex_mcp.codex.rollout import read_rollout, sandbox_to_restore, tokens_used


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


def test_the_tokens_and_requests_of_a_hidden_thread_are_counted_once_however_often_they_are_told(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rollout.jsonl"
    lines: list[object] = [{"type": "session_meta", "payload": {"source": {"subagent": "parent"}}}]
    for total in (100, 100, 250, 250):
        info = {"total_token_usage": {"input_tokens": total - 10, "total_tokens": total}}
        lines.append({"type": "event_msg", "payload": {"type": "token_count", "info": info}})
    lines.append({"type": "event_msg", "payload": {"type": "token_count", "info": None}})
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    assert tokens_used(str(path), "parent") == Tokens(input_tokens=240, total_tokens=250, requests=2)
    assert tokens_used(str(path), "another") == Tokens()
