"""Commands: words, meaning, output."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.threads.events.commands import (
    OUTPUT_CHARACTERS,
    argv,
    capped,
    command_begin,
    command_end,
    did_run,
    parsed_commands,
)
from codex_mcp.wire.app.items import CommandAction, CommandExecution

WAITING = CommandExecution(
    id="call-1",
    command="/bin/bash -lc 'make docs && echo ok'",
    cwd="/home/ada/site",
    command_actions=[CommandAction("unknown", "make docs && echo ok")],
)
DONE = CommandExecution(
    id="call-1",
    command="/bin/bash -lc 'make docs && echo ok'",
    cwd="/home/ada/site",
    command_actions=[CommandAction("unknown", "make docs && echo ok")],
    process_id="4242",
    source="unifiedExecStartup",
    status="completed",
    aggregated_output="ok\n",
    exit_code=0,
    duration_ms=1250,
)
SHARED = {
    "command": ["/bin/bash", "-lc", "make docs && echo ok"],
    "cwd": "file:///home/ada/site",
    "parsed_cmd": [{"type": "unknown", "cmd": "make docs && echo ok"}],
    "source": "unified_exec_startup",
}


def test_a_command_begins() -> None:
    ids = {"call_id": "call-1", "turn_id": "turn-1", "started_at_ms": 7}
    assert command_begin(WAITING, "turn-1", 7) == {"type": "exec_command_begin", **ids, **SHARED}


def test_a_command_ends() -> None:
    assert command_end(DONE, "turn-1", 9) == {
        "type": "exec_command_end",
        "call_id": "call-1",
        "process_id": "4242",
        "turn_id": "turn-1",
        "completed_at_ms": 9,
        **SHARED,
        "stdout": "ok\n",
        "stderr": "",
        "aggregated_output": "ok\n",
        "exit_code": 0,
        "duration": {"secs": 1, "nanos": 250_000_000},
        "formatted_output": "ok\n",
        "status": "completed",
    }


def test_a_killed_command_has_the_exit_code_of_no_exit() -> None:
    killed = CommandExecution(id="call-1", process_id="1", status="failed")
    assert command_end(killed, "turn-1", 9)["exit_code"] == -1


def test_other_sources_are_told_as_they_are() -> None:
    assert command_begin(CommandExecution(id="c", source="userShell"), "t", 0)["source"] == "user_shell"


@given(st.lists(st.text()))
def test_words_are_those_that_were_joined(words: list[str]) -> None:
    assert argv(shlex.join(words)) == words


def test_a_command_that_cannot_be_split_is_a_script() -> None:
    assert argv("echo 'unfinished") == ["bash", "-lc", "echo 'unfinished"]


def test_what_a_command_does_is_said_in_the_old_names() -> None:
    actions = [
        CommandAction("read", "cat a", name="a", path="/x/a"),
        CommandAction("listFiles", "ls"),
        CommandAction("search", "rg two .", query="two", path="."),
        CommandAction("dance", "tango"),
    ]
    assert parsed_commands(actions) == [
        {"type": "read", "cmd": "cat a", "name": "a", "path": "/x/a"},
        {"type": "list_files", "cmd": "ls", "path": None},
        {"type": "search", "cmd": "rg two .", "query": "two", "path": "."},
        {"type": "unknown", "cmd": "tango"},
    ]


def test_output_up_to_the_limit_is_whole() -> None:
    text = "x" * OUTPUT_CHARACTERS
    assert capped(text) == text


def test_of_longer_output_the_middle_is_left_out() -> None:
    half = OUTPUT_CHARACTERS // 2
    text = "a" * half + "b" * 1000 + "c" * half
    assert capped(text) == "a" * half + "\n… 1000 characters left out …\n" + "c" * half
    end = command_end(CommandExecution(id="c", exit_code=0, aggregated_output=text), "t", 0)
    assert end["stdout"] == end["aggregated_output"] == end["formatted_output"] == capped(text)


def test_a_command_did_run_if_there_was_a_process_or_an_exit_code() -> None:
    assert did_run(DONE)
    assert did_run(CommandExecution(id="c", exit_code=-1))
    assert not did_run(CommandExecution(id="c", status="declined"))
