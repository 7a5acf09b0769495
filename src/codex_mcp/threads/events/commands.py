"""Pure. Commands in the events of 0.153.4: the argv, its parts, begin and end."""

from __future__ import annotations

import shlex
from typing import Final

from codex_mcp.threads.events.spelling import duration, file_url, present, snake
from codex_mcp.wire.app.items import CommandAction, CommandExecution

OUTPUT_CHARACTERS: Final = 32_768
"""Limit of a command's output in exec_command_end, which has it three times: stdout, aggregated_output and
formatted_output. 0.153.4 sent messages of 600 KB. The limit is about what Codex shows its model (10,000 tokens)."""

# A command that needed approval is announced as "agent" and completes as this, the only way in which 0.163 runs one.
SOURCE_ONCE_RUNNING: Final = "unified_exec_startup"


def argv(command: str) -> list[str]:
    """The command's words, which the app-server joins with POSIX quoting. A line that cannot be split is a script."""
    try:
        return shlex.split(command)
    except ValueError:
        return ["bash", "-lc", command]


def parsed_commands(actions: list[CommandAction]) -> list[dict[str, object]]:
    return [_parsed(action) for action in actions]


def _parsed(action: CommandAction) -> dict[str, object]:
    match action.type:
        case "read":
            return {"type": "read", "cmd": action.command, "name": action.name or "", "path": action.path or ""}
        case "listFiles":
            return {"type": "list_files", "cmd": action.command, "path": action.path}
        case "search":
            return {"type": "search", "cmd": action.command, "query": action.query, "path": action.path}
        case _:
            return {"type": "unknown", "cmd": action.command}


def capped(text: str) -> str:
    """Text longer than OUTPUT_CHARACTERS loses its middle; a line says how much is left out."""
    left_out = len(text) - OUTPUT_CHARACTERS
    if left_out <= 0:
        return text
    half = OUTPUT_CHARACTERS // 2
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[-half:]}"


def did_run(item: CommandExecution) -> bool:
    return item.process_id is not None or item.exit_code is not None


def command_fields(item: CommandExecution) -> dict[str, object]:
    """The fields that begin and end share, after the ids."""
    source = snake(item.source)
    return {
        "command": argv(item.command),
        "cwd": file_url(item.cwd),
        "parsed_cmd": parsed_commands(item.command_actions),
        "source": SOURCE_ONCE_RUNNING if source == "agent" else source,
    }


def command_result(item: CommandExecution) -> dict[str, object]:
    """The fields that only the end has. The app-server merges stdout and stderr."""
    output = capped(item.aggregated_output or "")
    return {
        "stdout": output,
        "stderr": "",
        "aggregated_output": output,
        "exit_code": -1 if item.exit_code is None else item.exit_code,
        "duration": duration(item.duration_ms),
        "formatted_output": output,
    }


def command_begin(item: CommandExecution, turn_id: str, started_at_ms: int) -> dict[str, object]:
    return {
        "type": "exec_command_begin",
        "call_id": item.id,
        **present(process_id=item.process_id),
        "turn_id": turn_id,
        "started_at_ms": started_at_ms,
        **command_fields(item),
    }


def command_end(item: CommandExecution, turn_id: str, completed_at_ms: int) -> dict[str, object]:
    return {
        "type": "exec_command_end",
        "call_id": item.id,
        **present(process_id=item.process_id),
        "turn_id": turn_id,
        "completed_at_ms": completed_at_ms,
        **command_fields(item),
        **command_result(item),
        "status": snake(item.status),
    }
