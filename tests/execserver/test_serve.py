import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.execserver.serve import Address, ServerConfig, environment_info, parse_listen


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("stdio", Address(None)),
        ("stdio://", Address(None)),
        ("ws://127.0.0.1:0", Address("127.0.0.1", 0)),
        ("ws://0.0.0.0:4512/", Address("0.0.0.0", 4512)),
        ("ws://[::1]:80", Address("::1", 80)),
    ],
)
def test_an_address_is_an_ip_and_a_port(url: str, address: Address) -> None:
    assert parse_listen(url) == address


@pytest.mark.parametrize(
    "url", ["ws://localhost:0", "ws://127.0.0.1", "wss://127.0.0.1:0", "ws://127.0.0.1:0/x", "ws://127.0.0.1:99999", ""]
)
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="the address must be"):
        parse_listen(url)


def test_what_only_this_machine_reaches_is_local() -> None:
    assert Address(None).is_local
    assert Address("127.0.0.1").is_local
    assert Address("::1").is_local
    assert not Address("0.0.0.0").is_local
    assert not Address("192.168.1.1").is_local


def test_clients_are_told_about_the_machine() -> None:
    environment = {"SHELL": "/bin/zsh", "HOME": "/home/me", "TMPDIR": "/var/tmp"}
    info = environment_info(ServerConfig(Address(None), environment, "/my work", 1, lambda _: None, Confinement([])))
    assert (info.shell.name, info.shell.path) == ("zsh", "/bin/zsh")
    assert (info.cwd, info.user_home_dir) == ("file:///my%20work", "file:///home/me")
    assert info.temporary_directories == ["file:///var/tmp"]
