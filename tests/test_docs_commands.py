"""The command lines in the documentation: our parsers accept each, and those that need no account and no server run."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.cli.commands import ALIASES, COMMANDS
from codex_mcp.cli.main import WORDS, load_command
from codex_mcp.cli.parser import Parser
from tests.support.servers.commands import command
from tests.test_docs import pages

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELLS = {"sh", "bash", "console", ""}
INLINE = re.compile(r"`([^`\n]+)`")
BETWEEN = {"|", "||", "&&", ";", "&", "(", ")"}
PROGRAMS = {"codex-mcp": (), "codex-mcp-server": ("mcp-server",), "codex-exec-server": ("exec-server",)}

Words = tuple[str, ...]

EXIT_CODES = {
    "doctor": 1,
    "state import": 1,
    "summary": 3,
    "uninstall": 3,
    "mail send": 3,
} | dict.fromkeys(("show", "watch", "attach", "interrupt", "close", "approvals show"), 3)
"""In a fresh home: not signed in, no such file, agent, entry or inbox. Everything else ends with 0."""


def commands_in(line: str) -> Iterator[Words]:
    """The words of each command of ours in a line for a shell."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words: list[str] = []
    for word in [*reader, ";"]:
        if word in BETWEEN:
            if words and Path(words[0]).name in PROGRAMS:
                yield (*PROGRAMS[Path(words[0]).name], *words[1:])
            words = []
        else:
            words.append(word)


def in_blocks() -> dict[Words, str]:
    """Each command of a block, with its page."""
    found: dict[Words, str] = {}
    for page in pages():
        for language, block in BLOCK.findall(page.read_text()):
            for line in block.replace("\\\n", " ").splitlines() if language in SHELLS else ():
                if re.match(r"(\$ )?[\w./ ]*(\| )?[\w./]*codex-(mcp|exec)", line) and not re.match(
                    r"codex-mcp \d", line
                ):
                    found |= dict.fromkeys(commands_in(line.removeprefix("$ ")), page.name)
    return found


def in_sentences() -> dict[str, str]:
    """Each command in the text of a page."""
    return {
        text: page.name
        for page in pages()
        for text in INLINE.findall(BLOCK.sub("", page.read_text()))
        if re.match(r"(.* (\||&&) )?codex-mcp [a-z]", text)
    }


def parser_of(name: str) -> Parser:
    parser = Parser(f"codex-mcp {name}")
    load_command(name).configure(parser)
    return parser


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    inner = {flag for action in below for one in action.choices.values() for flag in flags_of(one)}
    return {*parser._option_string_actions, *inner}


def can_run(words: Words) -> bool:
    """Whether it ends by itself, without an account, a network, a person and a running systemd."""
    name, *rest = words
    if name in ("mcp-server", "serve"):  # over stdio they end with their stdin
        return not {"--port", "--scripted", "--exec-server"} & set(rest)
    needs_more = {"--follow", "--watch", "--turn", "--self-test", "--service", "watch", "<"}
    stays = ("exec", "exec-server", "rendezvous", "environments", "login", "demo", "dashboard")
    return name not in stays and not needs_more & set(rest)


BLOCKS = in_blocks()


def test_the_documentation_has_many_commands() -> None:
    assert len(BLOCKS) > 35
    assert len([words for words in BLOCKS if can_run(words)]) > 20
    assert len(in_sentences()) > 30


@pytest.mark.parametrize("words", BLOCKS, ids=shlex.join)
def test_a_command_of_a_block_is_accepted(words: Words) -> None:
    name, *rest = words
    end = rest.index("<") if "<" in rest else len(rest)
    parser_of(name).read(rest[:end])


@pytest.mark.parametrize("words", [words for words in BLOCKS if can_run(words)], ids=shlex.join)
def test_a_command_of_a_block_runs(tmp_path: Path, words: Words) -> None:
    ended = command(tmp_path, *words)
    expected = next((code for start, code in EXIT_CODES.items() if " ".join(words).startswith(start)), 0)
    assert ended.returncode == expected, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("text", in_sentences())
def test_a_command_of_a_sentence_exists_and_has_its_flags(text: str) -> None:
    found = re.findall(r"(?<![\w/.-])codex-mcp ([a-z-]+)([^|&;]*)", text)
    for word, rest in found:
        if word in WORDS:
            continue
        name = ALIASES.get(word, word)
        assert name in COMMANDS, text
        given = re.findall(r"(?<= )--[a-z][\w-]*", rest.partition(" -- ")[0])
        assert sorted(set(given) - flags_of(parser_of(name))) == []


def test_a_wrong_command_is_noticed() -> None:
    assert list(commands_in("cd x && printenv KEY | .venv/bin/codex-mcp login --device  # why")) == [
        ("login", "--device")
    ]
    with pytest.raises(Exception, match="there is no flag --devise"):
        parser_of("login").read(["--devise"])
