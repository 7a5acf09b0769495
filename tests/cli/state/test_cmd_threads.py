import json
import sys
from pathlib import Path

import pytest

from codex_mcp.state.embedded.store import open_store
from codex_mcp.team.agent import AgentStatus
from codex_mcp.team.records.summaries import write_summary
from tests.support.servers.commands import command
from tests.support.servers.terminal import Terminal
from tests.support.state.agents import an_agent, owned, record, register, state_folder_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return state_folder_of(tmp_path)


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_without_a_state_there_is_an_empty_table_and_nothing_is_made(tmp_path: Path) -> None:
    told = command(tmp_path, "threads")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == ["CODEX", "ID", "IDENTITY", "TEAM", "STATE", "SEEN", "TURNS", "REPO", "BRANCH"]
    assert list(tmp_path.iterdir()) == []


def test_at_a_terminal_an_empty_table_is_explained(tmp_path: Path) -> None:
    program = [str(Path(sys.executable).with_name("codex-mcp")), "threads"]
    with Terminal(program, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, columns=60) as terminal:
        assert terminal.exit_code() == 0
    assert "no agents are active or stale; --all lists closed ones too" in terminal.shown


async def test_agents_of_a_running_server_are_active_and_the_others_stale(tmp_path: Path, folder: Path) -> None:
    store = await open_store(str(folder))
    node = await store.leases.join()
    register(
        folder,
        owned(an_agent(1, "alice", status=AgentStatus.ACTIVE), node.id),
        owned(an_agent(2, "bob", status=AgentStatus.ACTIVE, days_ago=1), "gone"),
        an_agent(3, "carol"),
    )
    before = files_in(folder)
    told = command(tmp_path, "threads").stdout.splitlines()
    assert [line.split()[:4] for line in told[1:]] == [
        ["codex:000000000001", "alice", "default", "idle"],
        ["codex:000000000002", "bob", "default", "stale"],
    ]
    assert files_in(folder) == before
    await store.aclose()


def test_filters_and_json(tmp_path: Path, folder: Path) -> None:
    register(folder, an_agent(1, "alice"), an_agent(2, "bob", status=AgentStatus.STALE))
    everybody = json.loads(command(tmp_path, "threads", "--all", "--json").stdout)
    assert (everybody["schema"], everybody["state_dir"]) == (1, str(folder))
    assert [entry["identity"] for entry in everybody["threads"]] == ["alice", "bob"]
    bobs = json.loads(command(tmp_path, "threads", "--identity", "bob", "--repo", "shop", "--json").stdout)
    assert [entry["codex_id"] for entry in bobs["threads"]] == ["codex:000000000002"]
    assert json.loads(command(tmp_path, "threads", "--repo", "other", "--json").stdout)["threads"] == []


async def test_pruning_forgets_what_is_old_and_nobodys(tmp_path: Path, folder: Path) -> None:
    store = await open_store(str(folder))
    node = await store.leases.join()
    old, recent = an_agent(1, "old", days_ago=8), an_agent(2, "recent", days_ago=6)
    running = owned(an_agent(3, "running", status=AgentStatus.ACTIVE, days_ago=30), node.id)
    for agent in (old, recent, running):
        claim = await record(store, agent)
        if agent is not running:
            await store.leases.release(claim)
    register(folder, old, recent, running)
    summary = Path(write_summary(str(folder), "old", "thread-1", "done"))

    told = command(tmp_path, "threads", "--prune", "--json")
    assert (told.returncode, told.stderr) == (0, "")
    assert [entry["identity"] for entry in json.loads(told.stdout)["removed"]] == ["old"]
    assert set(await store.records.find("agent")) == {recent.codex_id, running.codex_id}
    assert not summary.parent.parent.exists()

    again = command(tmp_path, "threads", "--prune", "--older-than", "1").stdout.splitlines()
    assert again[-1] == "1 removed"
    assert set(await store.records.find("agent")) == {running.codex_id}
    left = json.loads(command(tmp_path, "threads", "--all", "--json").stdout)["threads"]
    assert [(entry["identity"], entry["status"]) for entry in left] == [("running", "active")]
    await store.aclose()


def test_pruning_heeds_the_filters(tmp_path: Path, folder: Path) -> None:
    register(folder, an_agent(1, "alice", days_ago=9), an_agent(2, "bob", days_ago=9))
    assert command(tmp_path, "threads", "--prune", "--identity", "bob").stdout.splitlines()[-1] == "1 removed"
    left = json.loads((folder / "registry.json").read_text())["sessions"]
    assert [entry["identity"] for entry in left] == ["alice"]
    assert command(tmp_path, "threads", "--prune", "--identity", "bob").stdout == "0 removed\n"


@pytest.mark.parametrize("days", ["-1", "soon", "nan", "inf"])
def test_what_is_no_number_of_days_is_refused(tmp_path: Path, days: str) -> None:
    told = command(tmp_path, "threads", "--prune", f"--older-than={days}")
    assert told.returncode == 2
    assert f"argument --older-than: cannot use '{days}': it must be a number of days" in told.stderr


def test_a_broken_registry_is_set_aside_and_the_command_answers(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "registry.json").write_text("{")
    told = command(tmp_path, "threads")
    assert told.returncode == 0
    assert "is not a registry" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_folder_that_is_none_is_a_sentence_and_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = command(tmp_path, "threads", "--state-dir", "file")
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith(f"codex-mcp threads: cannot read the state folder {tmp_path}/file: Not a directory")
