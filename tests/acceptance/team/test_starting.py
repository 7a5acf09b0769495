"""The three ways to start an agent: a prompt, a file, or an agent that there was before."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.core.told import context, developer_instructions, last, newest_prompt, user_texts
from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.team_server import GATE, refusal, say

RUST_DEV = f"""---
name: rust-dev
description: Writes Rust.
tools: Read, Grep, Glob
---

You write Rust. {say("It compiles.")}
"""


def agent_file(folder: Path, text: str = RUST_DEV) -> str:
    """Write an agent file into a folder; return its name there."""
    path = folder / ".claude/agents/rust-dev.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return ".claude/agents/rust-dev.md"


@requirement("FR-16.1")
async def test_the_text_of_an_agent_file_is_the_prompt(team: Team, tmp_path: Path) -> None:
    name = agent_file(tmp_path / "work")
    async with team() as (server, model):
        agent = await server.start_with({"agent_file": name, "identity": "rust"})
        assert agent["content"] == "It compiles."
        assert newest_prompt(last(model)) == f"You write Rust. {say('It compiles.')}"
        assert context(last(model))["your name"] == "rust"
    assert server.registry()[agent["codex_id"]]["agent_source"] == name


@requirement("FR-16.1")
async def test_an_agent_file_without_a_head_and_by_its_whole_path_will_do(team: Team, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    name = agent_file(tmp_path / "elsewhere", say("Plain."))
    async with team() as (server, _model):
        assert (await server.start_with({"agent_file": str(tmp_path / "elsewhere" / name)}))["content"] == "Plain."
        below = await server.start_with({"agent_file": name, "cwd": str(tmp_path / "elsewhere")})
        assert below["content"] == "Plain."


@requirement("FR-16.1")
async def test_an_agent_whose_file_lets_it_only_read_cannot_write(team: Team, tmp_path: Path) -> None:
    name = agent_file(tmp_path / "work", RUST_DEV.replace(say("It compiles."), '[[scene: run cmd="touch made"]]'))
    async with team() as (server, _model):
        refused = await server.start_with({"agent_file": name, "approval-policy": "never"})
        assert "Read-only" in refused["content"]
        assert not (server.setup.work / "made").exists()


@requirement("FR-16.2")
async def test_a_prompt_reaches_the_model_as_it_is(team: Team) -> None:
    async with team() as (server, model):
        prompt = f'  Two lines,\n\tand "quotes" \N{SNOWMAN}.\n{say("Done.")}\n'
        agent = await server.start(prompt)
        assert agent["content"] == "Done."
        assert newest_prompt(last(model)) == prompt


@requirement("FR-16.3")
async def test_an_agent_is_resumed_with_its_name_its_folder_and_its_conversation(team: Team) -> None:
    async with team() as (server, _model):
        inner = server.setup.work / "inner"
        inner.mkdir()
        agent = await server.start(say("I remember."), identity="arch-ctm", cwd=str(inner), tag="t")
    async with team() as (server, model):
        back = await server.start('[[scene: run cmd="pwd"]]', codex_id=agent["codex_id"])
        assert (back["identity"], back["threadId"]) == ("arch-ctm", agent["threadId"])
        assert back["content"].split()[-1] == str(inner)
        assert say("I remember.") in user_texts(last(model))
        row = (await server.threads())[agent["codex_id"]]
        assert (row["tag"], row["status"], row["state"]) == ("t", "active", "idle")


@requirement("FR-16.3")
async def test_a_resumed_agent_reads_its_summary_before_the_prompt(team: Team) -> None:
    async with team() as (server, model):
        background = await server.start(GATE, identity="arch-ctm", background=True)
        await model.wait_for_gate("gate")
        assert (await server.close_agent("arch-ctm"))["status"] == "closed"
        summary = server.state_dir / "arch-ctm" / background["threadId"] / "summary.md"
        summary.write_text("The parser is half done.\n")
        await server.start(say("again"), codex_id=background["codex_id"])
        newest = newest_prompt(last(model))
        assert "The parser is half done." in newest
        assert newest.endswith(say("again"))
        await server.reply("arch-ctm", say("more"))
        assert newest_prompt(last(model)) == say("more")


@requirement("FR-16.3")
async def test_an_agent_that_never_summed_up_is_resumed_as_well(team: Team) -> None:
    async with team() as (server, _model):
        agent = await server.start(say("hi"), identity="arch-ctm")
        server.process.send_signal(signal.SIGKILL)
        await server.exit_code()
    async with team() as (server, model):
        back = await server.start(say("again"), codex_id=agent["codex_id"])
        assert (back["content"], back["identity"]) == ("again", "arch-ctm")
        assert "earlier-summary" not in newest_prompt(last(model))
        assert newest_prompt(last(model)).endswith(say("again"))
        assert "without a summary" in server.log


@requirement("FR-16.3")
async def test_a_resumed_agent_goes_on_if_it_is_told_nothing(team: Team) -> None:
    async with team() as (server, model):
        agent = await server.start(say("hi"))
        await server.close_agent(agent["codex_id"])
        back = await server.start_with({"codex_id": agent["codex_id"]})
        assert back["status"] == "completed"
        assert newest_prompt(last(model)).endswith("Go on with your task.")


@requirement("FR-16.3")
async def test_an_agent_that_nobody_knows_cannot_be_resumed(team: Team) -> None:
    async with team() as (server, model):
        answer = await server.run("codex", {"prompt": say("hi"), "codex_id": "codex:000000000000"})
        assert "codex:000000000000" in refusal(answer)
        assert not model.requests


@requirement("FR-16.5")
async def test_with_a_prompt_the_text_of_an_agent_file_is_its_instructions(team: Team, tmp_path: Path) -> None:
    name = agent_file(tmp_path / "work", RUST_DEV.replace(say("It compiles."), "You write Rust."))
    async with team() as (server, model):
        agent = await server.start_with({"agent_file": name, "prompt": say("My task.")})
        assert agent["content"] == "My task."
        assert "You write Rust." in developer_instructions(last(model))
        assert "You write Rust." not in newest_prompt(last(model))


async def test_the_name_of_an_agent_file_is_the_default_identity(team: Team, tmp_path: Path) -> None:
    name = agent_file(tmp_path / "work")
    async with team() as (server, _model):
        assert (await server.start_with({"agent_file": name}))["identity"] == "rust-dev"
        assert (await server.start_with({"agent_file": name}))["identity"] == "rust-dev-2"
        assert (await server.start_with({"agent_file": name, "identity": "other"}))["identity"] == "other"


async def test_a_misspelled_agent_or_role_is_answered_with_the_name_that_was_meant(team: Team) -> None:
    async with team() as (server, _model):
        await server.start(say("hi"), identity="reviewer")
        answer = await server.run("codex-reply", {"identity": "reviwer", "prompt": say("hi")})
        assert "Did you mean reviewer?" in refusal(answer)


@requirement("FR-16.4")
async def test_the_ways_to_start_an_agent_exclude_each_other(team: Team, tmp_path: Path) -> None:
    name = agent_file(tmp_path / "work")
    async with team() as (server, model):
        answer = await server.run("codex", {"codex_id": "codex:000000000000", "agent_file": name})
        assert "`codex_id` and `agent_file` exclude each other" in refusal(answer)
        answer = await server.run("codex", {})
        assert "a `prompt`, an `agent_file`, or the `codex_id`" in refusal(answer)
        assert await server.threads() == {}
        assert not model.requests


def missing(path: Path) -> None:
    """Nothing is there."""


def a_folder(path: Path) -> None:
    path.mkdir()


def far_too_long(path: Path) -> None:
    path.write_bytes(b"word " * 2_000_000)


def binary(path: Path) -> None:
    path.write_bytes(b"\x7fELF\0\0\1")


def not_utf8(path: Path) -> None:
    path.write_bytes(b"caf\xe9")


def empty(path: Path) -> None:
    path.write_text("---\nname: x\n---\n\n")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_loop(path: Path) -> None:
    """A link to itself, which cannot be opened, whatever the rights."""
    path.symlink_to(path)


def a_link_out(path: Path) -> None:
    """To something private: here, the memory of the server."""
    path.symlink_to("/proc/self/mem")


REFUSED = {
    missing: "cannot find the agent file",
    a_folder: "is a folder",
    far_too_long: "longer than 256 KiB",
    binary: "it is binary",
    not_utf8: "not in UTF-8",
    empty: "it has no prompt",
    a_pipe: "is not a regular file",
    a_loop: "cannot read the agent file",
    a_link_out: "it is a link that leads out of",
}


@requirement("FR-16.6")
@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
async def test_a_file_that_cannot_be_used_is_refused_before_anything_starts(
    team: Team, tmp_path: Path, make: object
) -> None:
    assert callable(make)
    (tmp_path / "work").mkdir()
    make(tmp_path / "work/agent.md")
    async with team() as (server, model):
        answer = refusal(await server.run("codex", {"agent_file": "agent.md", "identity": "arch"}))
        assert REFUSED[make] in answer
        assert "agent.md" in answer
        assert await server.threads() == {}
        assert not model.requests
        assert (await server.start(say("hi"), identity="arch"))["identity"] == "arch"
