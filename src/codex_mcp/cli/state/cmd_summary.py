"""`codex-mcp summary`: the summary that an agent wrote of its work when it was closed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import NotFound
from codex_mcp.base.printable import one_line, visible
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.cli.output import SCHEMA, print_json, print_text
from codex_mcp.cli.state.folder import add_state_argument, readable, state_folder, summaries_in

DESCRIPTION: Final = (
    "Show the summary that an agent wrote of its work when it was closed; the latest, if there are several."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its codex_id, thread id or identity")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    folder = state_folder(arguments, environment, cwd)
    with readable(folder):
        found = max(summaries_in(folder, arguments.id), key=lambda found: found[2].written_at, default=None)
    if found is None:
        name = one_line(arguments.id)
        raise NotFound(f"there is no summary of {name} in {folder}; codex-mcp threads --all lists the agents")
    identity, thread, summary = found
    if arguments.json:
        written = format_timestamp(summary.written_at)
        about = {"identity": identity, "thread_id": thread, "written_at": written, "text": summary.text}
        print_json({"schema": SCHEMA, **about})
    else:
        print_text(visible(summary.text))
    return 0
