"""docs/compatibility.md names every recording and every defect, and no test that does not exist."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs/compatibility.md"

TEST_NAME = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
RECORDING_NAME = re.compile(r"\b\d\d_[\w-]+")

DEFECTS = 22

GROUPS = {
    "01_initialize": ("", "_bad", "_v_2024-11-05", "_v_2025-03-26", "_v_2025-11-25", "_v_2026-99-99", "_v_empty"),
    "02": ("_progress_token", "_reasoning", "_simple_answer"),
    "03": ("_multi_turn", "_reply_after_restart", "_reply_after_restart_2"),
    "04_exec": (
        *("_abort", "_approved", "_approved_for_session", "_denied", "_denied_obj", "_denied_obj2", "_error_reply"),
        *("_execpolicy_amend", "_garbage_decision", "_garbage_nonobject", "_mcp_accept", "_mcp_decline"),
        *("_mcp_accept_plus_decision", "_no_answer_no_capability", "_null", "_timed_out"),
    ),
    "05_patch": ("_abort", "_approved", "_approved_custom_tool", "_auto", "_denied", "_error_reply", "_garbage"),
    "06_cancel": ("_during_approval", "_during_exec", "_immediately", "_midturn", "_odd", "_only"),
    "07": ("_tool_errors",),
    "08": ("_before_initialize", "_malformed", "_stub_methods_no_answer", "_unknown_methods"),
    "09": ("_duplicate_request_id", "_parallel_approvals", "_reply_while_running", "_two_concurrent_calls"),
    "10_eof": ("_during_approval", "_midturn_endless", "_midturn_finite", "_right_after_call"),
    "10": ("_sigint_midturn", "_sigterm_midturn"),
    "11": (
        *("_long_command_output", "_missing_env_key", "_model_failures", "_plan_tool", "_request_user_input"),
        "_sandbox_denied_no_escalation",
    ),
    "12": ("_mcp_client_tools",),
    "13": ("_compaction", "_instructions", "_interactive_terminal", "_stream_retry", "_view_image", "_web_search"),
    "14": ("_mcp_tool_needs_approval", "_mcp_tool_needs_approval_ws"),
    "15": ("_idle_5s", "_rollout"),
    "16": ("_agents_md", "_elicitation_wrong_id_then_right", "_unicode"),
    "20_old": ("_info_methods",),
    "21_old": ("_auth_methods",),
    "22_old": ("_conversation_flow",),
    "23_old": ("_list_resume",),
    "24_old": ("_resume_after_restart",),
    "25_old": ("_tools_codex",),
    "17": ("_broken_config", "_cli_overrides", "_config_broken_later", "_strict_config"),
}
"""The names of all recordings of 0.153.4 and 0.42.0, each group's beginning with its endings."""

RECORDINGS = {beginning + ending for beginning, endings in GROUPS.items() for ending in endings}


def section(title: str) -> list[str]:
    """The rows of the one table below a heading."""
    (text,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [line for line in text.splitlines() if line.startswith("| ")][1:]


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_recording_has_a_counterpart() -> None:
    named: set[str] = set()
    for row in section("The recordings"):
        recordings, counterpart = row.strip("| ").split(" | ")
        assert TEST_NAME.search(counterpart), row
        named.update(RECORDING_NAME.findall(recordings))
    assert named == RECORDINGS


def test_every_defect_has_a_test_that_shows_it_fixed() -> None:
    rows = [row.strip("| ").split(" | ") for row in section("What is fixed")]
    assert [name for name, *_rest in rows] == [f"F{number}" for number in range(1, DEFECTS + 1)]
    assert [name for name, *_rest, test in rows if not TEST_NAME.search(test)] == []


def test_every_test_that_is_named_exists() -> None:
    named = TEST_NAME.findall(PAGE.read_text())
    assert [f"{path}::{test}" for path, test in named if test not in functions_in(path)] == []


def test_every_counterpart_is_named() -> None:
    """A test of this folder that the page does not name is one that nobody finds."""
    named = {test for _path, test in TEST_NAME.findall(PAGE.read_text())}
    files = [path for path in Path(__file__).parent.glob("test_*.py") if path.name != Path(__file__).name]
    written = {
        test for path in files for test in functions_in(str(path.relative_to(TESTS))) if test.startswith("test_")
    }
    assert written - named == set()
