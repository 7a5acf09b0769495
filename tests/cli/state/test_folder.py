import argparse
import os
from pathlib import Path

import pytest

from codex_mcp.cli.state.folder import (
    UnreadableFolder,
    add_state_argument,
    agents_in,
    readable,
    state_folder,
    summaries_in,
)
from codex_mcp.state.embedded.store import open_store
from codex_mcp.team.agent import AgentStatus
from codex_mcp.team.records.summaries import write_summary
from tests.support.state.agents import an_agent, owned, register, state_folder_of


def test_the_folder_is_that_of_the_settings_or_the_one_that_is_named(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_state_argument(parser)
    home = {"HOME": str(tmp_path)}
    (tmp_path / "x").mkdir()
    assert state_folder(parser.parse_args([]), home, str(tmp_path)) == str(state_folder_of(tmp_path))
    assert state_folder(parser.parse_args(["--state-dir", "x"]), home, str(tmp_path)) == f"{tmp_path}/x"


async def test_whose_server_lives_is_seen_by_its_lock(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path))
    node = await store.leases.join()
    register(tmp_path, owned(an_agent(1, status=AgentStatus.ACTIVE), node.id))
    assert [agent.status for agent in agents_in(str(tmp_path))] == [AgentStatus.ACTIVE]
    await store.abandon()
    assert [agent.status for agent in agents_in(str(tmp_path))] == [AgentStatus.STALE]


def test_where_nobody_ever_was_there_is_nobody_and_nothing_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "nosuch"
    assert agents_in(str(folder)) == []
    assert list(summaries_in(str(folder), "codex")) == []
    assert not folder.exists()


def test_summaries_are_found_by_every_name(tmp_path: Path) -> None:
    folder = str(tmp_path)
    register(tmp_path, an_agent(1, "reviewer"))
    write_summary(folder, "reviewer", "thread-1", "one")
    write_summary(folder, "reviewer", "thread-2", "two")
    (tmp_path / "reviewer" / "no thread").mkdir()
    (tmp_path / "Not an identity" / "thread-1").mkdir(parents=True)

    def found(reference: str) -> list[str]:
        return [summary.text for _, _, summary in summaries_in(folder, reference)]

    assert found("codex:000000000001") == ["one"]
    assert found("thread-2") == ["two"]
    assert found("thread-1") == ["one"]
    assert found("reviewer") == ["one", "two"]
    assert found("nobody") == []


def test_a_folder_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFolder, match=r"cannot read the state folder here: Is a directory \(.*\); check its"):  # noqa: SIM117
        with readable("here"):
            os.close(os.open(tmp_path, os.O_RDWR))
