"""A core that outlives its server is taken over by the next one, if it is proven; what is not, is left alone."""

import asyncio
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codex_mcp.base.processes.marks import SERVED_BY
from codex_mcp.codex.supervisor import CoreLaunch
from codex_mcp.codex.surviving.record import CoreRecord, decoded
from codex_mcp.codex.surviving.terms import Survival
from tests.support.core.cores import Listener
from tests.support.core.surviving import end_guards, forge, guards, record_path, server, the_record
from tests.support.patience import PATIENCE
from tests.support.processes import Process, ended
from tests.threads.test_thread import is_alive


async def left_core(folder: Path, seconds: int = 3600) -> int:
    """Start a core, and leave it. Its process id."""
    async with server(folder, seconds) as first:
        assert (await (await first.core()).account()).account is None
        assert first.pid is not None
        pid = first.pid
        await first.stop(leave=True)
    end_guards()  # some other test is about them
    assert is_alive(pid)
    return pid


async def gone(pid: int) -> None:
    """Wait for the end of a process that is our child."""
    async with asyncio.timeout(PATIENCE):
        await ended(Process(pid, ()))
    bury(pid)


def bury(pid: int) -> None:
    os.waitpid(pid, 0)


async def test_the_next_server_takes_over_the_core_that_was_left_and_ends_it(tmp_path: Path) -> None:
    pid = await left_core(tmp_path)
    listener = Listener()
    async with server(tmp_path, listener=listener) as second:
        core = await second.core()
        assert (second.pid, second.mark, second.version) == (pid, the_record(tmp_path).mark, "0.163.0")
        assert (await core.account()).account is None
    assert not is_alive(pid)
    assert [str(reason) for reason in listener.lost] == ["the server has stopped Codex"]
    assert sorted(os.listdir(tmp_path / "state" / "core")) == ["server.lock"]


async def test_a_core_can_be_left_and_taken_over_again_and_again(tmp_path: Path) -> None:
    pid = await left_core(tmp_path)
    for _ in range(3):
        async with server(tmp_path) as following:
            await following.core()
            assert following.pid == pid
            await following.stop(leave=True)
        end_guards()
    async with server(tmp_path) as last:
        await last.core()
    assert not is_alive(pid)


FORGERIES: list[Callable[[CoreRecord], dict[str, object]]] = [
    lambda _: {"boot": "11111111-2222-3333-4444-555555555555"},
    lambda record: {"started": record.started + 1},
    lambda _: {"mark": "0" * 16},
    lambda record: {"uid": record.uid + 1},
    lambda _: {"pid": os.getpid()},
    lambda record: {"socket": record.socket + ".other"},
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=["boot", "started", "mark", "uid", "pid", "socket"])
async def test_one_wrong_field_leads_to_another_core_and_the_first_one_lives(
    tmp_path: Path, forgery: Callable[[CoreRecord], dict[str, object]]
) -> None:
    pid = await left_core(tmp_path)
    true = record_path(tmp_path).read_bytes()
    forge(tmp_path, **forgery(the_record(tmp_path)))
    async with server(tmp_path) as second:
        core = await second.core()
        assert second.pid != pid
        assert (await core.account()).account is None
    assert is_alive(pid)
    socket_of_first = the_socket(pid)
    record_path(tmp_path).write_bytes(true)
    relink(socket_of_first, the_path(true))
    async with server(tmp_path) as third:  # the true record is accepted
        await third.core()
        assert third.pid == pid
    assert not is_alive(pid)


def relink(target: str, path: str) -> None:
    """What the other server has taken away."""
    if not os.path.lexists(path):
        os.symlink(target, path)


def the_path(record: bytes) -> str:
    found = decoded(record)
    assert found is not None
    return found.socket


def the_socket(pid: int) -> str:
    """The socket on which this process listens."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    inodes = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    return next(
        fields[7]
        for fields in map(str.split, lines)
        if len(fields) == 8 and f"socket:[{fields[6]}]" in inodes and "codex-daemon" in fields[7]
    )


@contextmanager
def impostor(path: str) -> Iterator[socket.socket]:
    """Somebody else listens where the core did."""
    with socket.socket(socket.AF_UNIX) as listening:
        os.unlink(path)
        with tempfile.TemporaryDirectory() as private:  # of a short name
            listening.bind(f"{private}/s")
            os.symlink(f"{private}/s", path)
            listening.listen()
            yield listening


async def test_an_impostor_on_the_socket_of_a_living_core_is_not_spoken_to(tmp_path: Path) -> None:
    pid = await left_core(tmp_path)
    path = the_record(tmp_path).socket
    with impostor(path) as listening:
        async with server(tmp_path) as second:
            await second.core()
            assert second.pid != pid
        listening.settimeout(0)
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.recv(1) == b""  # it was told nothing
    assert is_alive(pid)
    os.kill(pid, 9)
    await gone(pid)


async def test_a_core_that_was_killed_is_followed_by_another(tmp_path: Path) -> None:
    pid = await left_core(tmp_path)
    os.kill(pid, 9)
    await gone(pid)
    async with server(tmp_path) as second:
        core = await second.core()
        assert second.pid != pid
        assert (await core.account()).account is None


@pytest.mark.parametrize("record", [b"", b"{", b"null", b"x" * 100_000])
async def test_a_damaged_record_leads_to_another_core(tmp_path: Path, record: bytes) -> None:
    (tmp_path / "state" / "core").mkdir(parents=True, mode=0o700)
    record_path(tmp_path).write_bytes(record)
    async with server(tmp_path) as only:
        assert (await (await only.core()).account()).account is None


async def test_a_second_server_of_the_folder_has_a_core_of_its_own_that_dies_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with server(tmp_path) as first:
        await first.core()
        async with server(tmp_path) as second:
            await second.core()
            assert second.pid not in (None, first.pid)
            assert "another server of this state folder has the core that survives" in caplog.text
            alone = second.pid
            await second.stop(leave=True)
            assert alone is not None
            assert not is_alive(alone)
        assert first.pid is not None
        assert is_alive(first.pid)


async def test_a_folder_that_is_open_to_others_has_no_core(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state" / "core").mkdir(parents=True)
    os.chmod(tmp_path / "state" / "core", 0o755)
    async with server(tmp_path) as only:
        await only.core()
    assert "is open to others; Codex does not outlive this server" in caplog.text
    assert os.listdir(tmp_path / "state" / "core") == []


REFUSES = """
case "$*" in *--listen*) echo 'Error: app-server socket directory must be a user-owned directory' >&2; exit 1 ;; esac
read -r _; echo '{"id":0,"result":{"userAgent":"codex/0"}}'; cat >/dev/null
"""


async def test_a_codex_that_cannot_make_its_socket_runs_over_stdio(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def launch() -> CoreLaunch:
        argv = ["sh", "-c", REFUSES, "codex"]
        return CoreLaunch(argv, {"PATH": os.environ["PATH"]}, survival=Survival(str(tmp_path / "state"), 5))

    async with server(tmp_path, launch=launch) as only:
        await only.core()
        assert only.starts == 1
    assert "it has ended" in caplog.text
    assert "app-server socket directory must be a user-owned directory" in caplog.text
    assert "Codex does not outlive this server" in caplog.text


async def test_nobody_who_comes_back_ends_the_core_and_its_commands(tmp_path: Path) -> None:
    async with server(tmp_path, seconds=1) as first:
        await first.core()
        assert first.pid is not None
        pid, mark = first.pid, first.mark
        environment = {"PATH": os.defpath, SERVED_BY: mark}
        command = await asyncio.create_subprocess_exec("sleep", "1000", env=environment, start_new_session=True)
        await first.stop(leave=True)
    await gone(pid)
    assert await command.wait() == -9
    (guard,) = guards()
    await gone(guard)
    assert set(os.listdir(tmp_path / "state" / "core")) == {
        "core.json",
        f"{mark}.sock",
        f"{mark}.stderr",
        "server.lock",
    }


async def test_the_guard_of_a_server_that_was_followed_ends_nothing(tmp_path: Path) -> None:
    async with server(tmp_path, seconds=3) as first:
        await first.core()
        assert first.pid is not None
        pid = first.pid
        await first.stop(leave=True)
        (guard,) = guards()
    async with server(tmp_path, seconds=3) as second:
        await second.core()
        assert second.pid == pid
        await gone(guard)  # it has seen the next one
        assert is_alive(pid)


async def test_the_guard_of_a_server_whose_core_was_ended_by_the_next_one_leaves(tmp_path: Path) -> None:
    async with server(tmp_path) as first:
        await first.core()
        await first.stop(leave=True)
    (guard,) = guards()
    async with server(tmp_path) as second:
        await second.core()
    await gone(guard)
