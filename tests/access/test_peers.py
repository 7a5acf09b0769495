"""The check itself, with real processes: this process is the server."""

import asyncio
import contextlib
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.access import process_tree
from codex_mcp.access.other_end import socket_address
from codex_mcp.access.peers import Peers, other_user
from codex_mcp.access.process_tree import has_other_namespaces

CONNECT = """
import socket, sys
opened = socket.socket(getattr(socket, sys.argv[1]))
opened.connect(sys.argv[2] if sys.argv[1] == "AF_UNIX" else ("127.0.0.1", int(sys.argv[2])))
print("connected", flush=True)
sys.stdin.read()
"""


DEEP = """
import os
for _ in range(300):
    if (pid := os.fork()):
        os.waitpid(pid, 0)
        os._exit(0)
"""
"""The last of 300 processes, each started by the one before it."""

HIDDEN = """
import ctypes, threading
def hide():
    assert ctypes.CDLL(None, use_errno=True).unshare(0x400) == 0  # CLONE_FILES
    connect()
threading.Thread(target=hide).start()
"""
"""A thread whose files the process does not share."""


@contextlib.contextmanager
def child(*arguments: str, code: str = CONNECT, **options: Any) -> Iterator[None]:
    """A process of ours that has connected, until the end of the block."""
    argv = [sys.executable, "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, **options) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"connected\n"
        yield
        process.stdin.close()


def verdict(accepted: socket.socket, *, only_confined: bool = False) -> str | None:
    theirs, ours = socket_address(accepted.getpeername()), socket_address(accepted.getsockname())
    assert theirs is not None
    assert ours is not None
    return Peers(only_confined=only_confined).refusals_of([(theirs, ours)])[0]


def test_this_process_may_connect_to_itself_and_its_children_may_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), listener.accept()[0] as accepted:
            assert verdict(accepted) is None
        ways: list[dict[str, Any]] = [{}, {"start_new_session": True}, {"env": {}}]
        for options in ways:
            with child("AF_INET", str(port), **options), listener.accept()[0] as accepted:
                assert "was started by an agent of this server" in (verdict(accepted) or "")


@pytest.mark.parametrize("only_confined", [False, True])
@pytest.mark.parametrize("code", [DEEP + CONNECT, "def connect():" + CONNECT.replace("\n", "\n    ") + HIDDEN])
def test_a_child_that_hides_is_refused(code: str, *, only_confined: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with child("AF_INET", str(port), code=code), listener.accept()[0] as accepted:
            assert "Forbidden" in (verdict(accepted, only_confined=only_confined) or "")


def test_a_process_in_another_namespace_is_elsewhere() -> None:
    apart = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    for argv, elsewhere in (([], False), (apart, True)):
        with subprocess.Popen([*argv, "sh", "-c", "echo; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as it:
            assert it.stdout is not None
            assert it.stdout.readline() == b"\n"
            started = [it.pid, *map(int, children(it.pid))]
            assert has_other_namespaces(started[-1]) is elsewhere
            it.communicate(b"\n")


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_socket_that_a_child_shares_with_us_is_refused() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as accepted,
    ):
        assert verdict(accepted) is None
        argv = [sys.executable, "-c", "print(flush=True); input()"]
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, pass_fds=[client.fileno()]) as sharing:
            assert sharing.stdout is not None
            sharing.stdout.readline()
            assert verdict(accepted) is not None
            sharing.communicate(b"\n")


def test_a_connection_that_its_client_has_closed_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()).close()
        with listener.accept()[0] as accepted:
            assert "cannot see which process" in (verdict(accepted) or "")


async def test_a_connection_that_its_client_has_reset_is_refused() -> None:
    """Its request is there to be read, but a socket without the other end has no name."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as client:
            accepted, _ = listener.accept()
            client.sendall(b"request")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with accepted, contextlib.closing(Peers()) as peers:
            with pytest.raises(OSError, match="not connected"):
                accepted.getpeername()
            assert "cannot see which process" in (await peers.check(None, accepted.getsockname()) or "")


def test_the_same_holds_for_unix_sockets(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(path)
        listener.listen()
        client.connect(path)
        with listener.accept()[0] as accepted:
            assert Peers().unix_refusal(accepted) is None
        with child("AF_UNIX", path), listener.accept()[0] as accepted:
            assert "was started by an agent" in (Peers().unix_refusal(accepted) or "")
        os.unlink(path)


MANY = """
import socket, sys
opened = [socket.create_connection(("127.0.0.1", int(sys.argv[2]))) for _ in range(100)]
print("connected", flush=True)
sys.stdin.read()
"""


async def test_many_connections_of_an_agent_are_checked_with_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    processes = process_tree.processes

    def counted() -> list[int]:
        looks.append(None)
        return processes()

    monkeypatch.setattr(process_tree, "processes", counted)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=200))
        stack.enter_context(child("AF_INET", str(listener.getsockname()[1]), code=MANY))
        theirs = [stack.enter_context(listener.accept()[0]) for _ in range(100)]
        client = stack.enter_context(socket.create_connection(listener.getsockname()))
        ours = stack.enter_context(listener.accept()[0])
        peers = stack.enter_context(contextlib.closing(Peers()))
        checks = [peers.check(each.getpeername(), each.getsockname()) for each in (*theirs, ours)]
        *refused, allowed = await asyncio.gather(*checks)
        assert all("was started by an agent" in (why or "") for why in refused)
        assert allowed is None
        assert len(looks) <= 2, "one for the first connection, and one for all that came meanwhile"
        assert client.fileno() > 0


async def test_a_check_that_nobody_waits_for_any_longer_does_not_stop_the_others() -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        peers = stack.enter_context(contextlib.closing(Peers()))
        checks = []
        for _ in range(3):
            stack.enter_context(socket.create_connection(listener.getsockname()))
            accepted = stack.enter_context(listener.accept()[0])
            checks.append(peers.check(accepted.getpeername(), accepted.getsockname()))
        checks[0].cancel()
        checks[1].cancel()
        assert await checks[2] is None


async def test_a_unix_socket_is_for_our_user_and_root_and_refusals_are_told() -> None:
    told: list[str] = []
    peers = Peers(refused=told.append)
    us = os.geteuid()
    other = 65534 if us == 0 else us
    with contextlib.ExitStack() as stack:
        near, far = map(stack.enter_context, socket.socketpair())
        os.seteuid(other)
        try:
            theirs, _ = map(stack.enter_context, socket.socketpair())
        finally:
            os.seteuid(us)
        assert (other_user(near), other_user(far)) == (None, None)
        assert await peers.check_unix(near) is None
        assert (await peers.check_unix(theirs) is None) is (other == us)
    expected = (
        [] if other == us else [f"Forbidden: this socket is for the user who runs the server; you are user {other}"]
    )
    assert told == expected
    peers.close()
