"""The client's socket of a connection, by its addresses."""

import os
import resource
import socket

import pytest

from codex_mcp.access import other_end as module
from codex_mcp.access.other_end import is_here, other_end, socket_address


@pytest.mark.parametrize(
    ("listening", "host", "connecting"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET6, "::", "127.0.0.1"),
        (socket.AF_INET6, "::", "::ffff:127.0.0.1"),
    ],
)
def test_both_ways_find_the_socket_of_the_client(
    listening: socket.AddressFamily, host: str, connecting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        socket.create_server((host, 0), family=listening, dualstack_ipv6=host == "::") as listener,
        socket.create_connection((connecting, listener.getsockname()[1])) as client,
        listener.accept()[0] as accepted,
    ):
        theirs, ours = socket_address(accepted.getpeername()), socket_address(accepted.getsockname())
        assert theirs is not None
        assert ours is not None
        assert is_here(theirs)
        inode = os.fstat(client.fileno()).st_ino
        found = other_end(theirs, ours)
        assert found is not None
        assert (found.inode, found.uid) == (inode, os.geteuid())
        with monkeypatch.context() as without:
            without.setattr(module, "NETLINK_SOCK_DIAG", 31)  # a kernel without it
            assert other_end(theirs, ours) == found
        client.close()
        assert other_end(theirs, ours) is None


def test_other_machines_are_not_here() -> None:
    for far in ("192.0.2.1", "2001:db8::1"):
        address = socket_address((far, 80))
        assert address is not None
        assert not is_here(address)
    assert socket_address("/a/unix/socket") is None
    assert socket_address(None) is None


def test_a_server_without_a_free_descriptor_takes_nobody_for_another_machine() -> None:
    address = socket_address(("192.0.2.1", 80))
    assert address is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert is_here(address)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
