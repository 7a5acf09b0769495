"""Every command with --json prints the document that docs/commands.md describes."""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.cli.cmd_completion import whole_parser
from tests.support.servers.commands import command
from tests.support.state.agents import an_agent, register, state_folder_of
from tests.test_docs import ROOT, table_rows

NO_CODEX = ["--codex-bin", "./gone"]

RUNS = {
    "config": [],
    "threads": [],
    "threads --prune": [],
    "audit": [],
    "state check": [],
    "mail list": [],
    "mail read": [],
    "mail send": ["bob", "hello", "--allow-unknown"],
    "doctor": NO_CODEX,
    "migrate": [],
    "install": ["--list"],
}
"""The words after the command that it needs in a home with nothing but an agent."""

TESTED_ELSEWHERE = {"summary", "mail ack", "mail broadcast", "environments", "show", "approvals", "status"}
"""In tests/acceptance/test_team_commands.py and team/test_terminal_*.py, tests/cli/mail and tests/rendezvous: they
need more than an agent."""

ONE_PER_LINE = {"mail watch"}


def documented() -> dict[str, set[str]]:
    rows = table_rows(ROOT / "docs/commands.md")
    start = next(number for number, row in enumerate(rows) if row[-1] == "keys besides `schema`")
    keys = {name: set(re.findall(r"`(\w+)`", row[1])) for row in rows[start:] for name in re.findall("`(.+?)`", row[0])}
    end = list(keys).index("migrate") + 1
    return dict(list(keys.items())[:end])


def with_json(parser: argparse.ArgumentParser, name: str = "") -> Iterator[str]:
    """The commands below this parser that have the flag."""
    if "--json" in parser._option_string_actions:
        yield name
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, inner in action.choices.items():
                yield from with_json(inner, f"{name} {below}".strip())


def test_every_command_with_json_is_in_the_table() -> None:
    assert set(with_json(whole_parser())) | {"threads --prune"} == set(documented()) | ONE_PER_LINE
    assert set(documented()) == RUNS.keys() | TESTED_ELSEWHERE


@pytest.mark.parametrize("name", RUNS)
def test_a_document_has_the_keys_of_the_table(tmp_path: Path, name: str) -> None:
    folder = state_folder_of(tmp_path)
    folder.mkdir(parents=True)
    register(folder, an_agent(1, "alice"))
    ended = command(tmp_path, *name.split(), *RUNS[name], "--json")
    document = json.loads(ended.stdout)
    assert (document.pop("schema"), document.keys()) == (1, documented()[name])
