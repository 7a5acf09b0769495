"""registry.json in a real folder, with several writers."""

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from codex_mcp.base.files import read_regular
from codex_mcp.base.locks import flocked
from codex_mcp.team.agent import Agent
from codex_mcp.team.records import registry
from codex_mcp.team.records.registry import LOCK, RegistryFile, read_registry
from codex_mcp.team.records.registry_text import entry_text, revision_of


def agent(number: int = 0) -> Agent:
    return Agent(
        codex_id=f"codex:{number:012x}", identity=f"a{number}", team="t", cwd="/srv", started_at=1.0, last_active=2.0
    )


def write(file: RegistryFile, *agents: Agent) -> bool:
    return file.write(agents, file.next_revision())


def test_it_is_made_with_its_folder_and_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert write(RegistryFile(str(folder)), agent(1), agent(2))
    assert read_registry(str(folder / "registry.json")) == [agent(1), agent(2)]
    assert sorted(os.listdir(folder)) == ["registry.json", "registry.lock"]
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in os.listdir(folder)} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_an_older_look_at_the_store_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    slow, quick = RegistryFile(str(tmp_path)), RegistryFile(str(tmp_path))
    early = slow.next_revision()
    assert write(quick, agent(1), agent(2))
    assert not slow.write([agent(1)], early)
    assert read_registry(str(tmp_path / "registry.json")) == [agent(1), agent(2)]
    assert write(slow, agent(2))
    assert read_registry(str(tmp_path / "registry.json")) == [agent(2)]


@pytest.mark.parametrize("contents", [b"", b"000000000", b"00000000000000000001\n"])
def test_numbers_go_on_when_the_lock_file_lost_them(tmp_path: Path, contents: bytes) -> None:
    file = RegistryFile(str(tmp_path))
    for _ in range(3):
        assert write(file, agent())
    (tmp_path / LOCK).write_bytes(contents)
    assert write(RegistryFile(str(tmp_path)), agent(1))
    assert revision_of((tmp_path / "registry.json").read_bytes()) == 4


def test_of_many_writers_the_last_look_wins(tmp_path: Path) -> None:
    """Each adds its agents to the store and writes the registry after every one; in the end it has all agents."""
    store: dict[str, Agent] = {}
    start = threading.Barrier(4)

    def serve(first: int) -> None:
        file = RegistryFile(str(tmp_path))
        start.wait()
        for number in range(first, first + 10):
            store[agent(number).codex_id] = agent(number)
            revision = file.next_revision()
            file.write(list(store.values()), revision)

    servers = [threading.Thread(target=serve, args=(100 * index,)) for index in range(4)]
    for server in servers:
        server.start()
    for server in servers:
        server.join()
    assert {each.codex_id for each in read_registry(str(tmp_path / "registry.json"))} == set(store)
    assert len(store) == 40


def test_a_writer_that_hangs_does_not_hang_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PATIENCE", 0.02)
    descriptor = os.open(tmp_path / LOCK, os.O_RDWR | os.O_CREAT)
    with flocked(descriptor, 0), pytest.raises(TimeoutError):
        RegistryFile(str(tmp_path)).next_revision()
    os.close(descriptor)


def test_no_file_is_no_agents(tmp_path: Path) -> None:
    assert read_registry(str(tmp_path / "registry.json")) == []
    assert os.listdir(tmp_path) == []


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_folder(path: Path) -> None:
    path.mkdir()


def a_socket(path: Path) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener, contextlib.chdir(path.parent):
        listener.bind(path.name)


@pytest.mark.parametrize("make", [a_pipe, a_device, a_folder, a_socket])
def test_what_is_not_a_regular_file_is_set_aside_and_nobody_waits_for_it(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "registry.json"
    make(path)
    assert read_registry(str(path)) == []
    make(path)
    file = RegistryFile(str(tmp_path))
    assert file.write([agent(1)], file.next_revision())
    assert read_registry(str(path)) == [agent(1)]


def test_a_broken_file_is_set_aside_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "registry.json"
    path.write_bytes(b'{"version":2,"sess')
    assert read_registry(str(path)) == []
    (aside,) = (name for name in os.listdir(tmp_path) if name.startswith("registry.json.broken-"))
    assert (tmp_path / aside).read_bytes() == b'{"version":2,"sess'
    assert not path.exists()
    assert "it was renamed" in caplog.text


def test_a_broken_file_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_bytes(b"precious?")
    assert write(RegistryFile(str(tmp_path)), agent())
    (aside,) = (name for name in os.listdir(tmp_path) if name.startswith("registry.json.broken-"))
    assert (tmp_path / aside).read_bytes() == b"precious?"
    assert read_registry(str(tmp_path / "registry.json")) == [agent()]


def test_a_broken_file_that_cannot_be_set_aside_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    (tmp_path / "registry.json").write_bytes(b"no registry")
    monkeypatch.setattr(os, "replace", refuse)
    assert read_registry(str(tmp_path / "registry.json")) == []
    assert "cannot be renamed: Operation not permitted" in caplog.text


def test_what_cannot_be_read_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "registry.json").symlink_to(tmp_path / "registry.json")  # a loop, which cannot be followed
    assert read_registry(str(tmp_path / "registry.json")) == []
    assert "continuing without it" in caplog.text


def test_an_odd_entry_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "registry.json"
    assert write(RegistryFile(str(tmp_path)), agent(1), msgspec.structs.replace(agent(2), identity="../x"))
    assert read_registry(str(path)) == [agent(1)]
    assert "entry 2" in caplog.text


def test_drafts_of_the_dead_go_with_the_first_write(tmp_path: Path) -> None:
    (tmp_path / ".registry.json.0123456789ab.draft").write_bytes(b"half")
    assert write(RegistryFile(str(tmp_path)), agent())
    assert sorted(os.listdir(tmp_path)) == ["registry.json", "registry.lock"]


def test_of_many_agents_only_what_has_changed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    looked: list[str] = []

    def made_of(agent: Agent, make: Callable[[Agent], bytes] = entry_text) -> bytes:
        made.append(agent.codex_id)
        return make(agent)

    def read_of(path: str, limit: int, read: Callable[..., bytes] = read_regular) -> bytes:
        looked.append(path)
        return read(path, limit)

    file = RegistryFile(str(tmp_path))
    agents = [agent(number) for number in range(30)]
    assert write(file, *agents)
    monkeypatch.setattr(registry, "entry_text", made_of)
    monkeypatch.setattr(registry, "read_regular", read_of)
    changed = msgspec.structs.replace(agents[7], turns=3)
    assert write(file, *agents[:7], changed, *agents[8:], agent(30))
    assert [made, looked] == [[changed.codex_id, agent(30).codex_id], []]
    assert write(RegistryFile(str(tmp_path)), agent(1))  # of another server
    assert write(file, *agents)
    assert len(looked) == 2, "each of them has seen that it is not its own"
    assert read_registry(str(tmp_path / "registry.json")) == agents
