"""Which command lines are old servers, and what replaces them."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.clients.old_servers import Kind, old_server

PLAIN = ["mcp-server"]
SESSIONS = ["mcp-server", "--tools", "sessions"]


@pytest.mark.parametrize(
    ("line", "kind", "args"),
    [
        ("codex mcp-server", Kind.CODEX, PLAIN),
        ("codex mcp", Kind.CODEX, PLAIN),
        ("codex mcp serve", Kind.CODEX, PLAIN),
        ("/usr/local/bin/codex mcp-server", Kind.CODEX, PLAIN),
        ("codex.exe mcp-server", Kind.CODEX, PLAIN),
        ("""codex -c model='"o3"' mcp-server""", Kind.CODEX, [*PLAIN, "-c", 'model="o3"']),
        ("codex mcp-server --config=a=1 -p work", Kind.CODEX, [*PLAIN, "-c", "a=1", "-p", "work"]),
        (
            "codex -m o3 --sandbox read-only mcp-server",
            Kind.CODEX,
            [*PLAIN, *("-c", 'model="o3"', "-c", 'sandbox_mode="read-only"')],
        ),
        ("codex --enable x mcp-server --disable y", Kind.CODEX, [*PLAIN, "--enable", "x", "--disable", "y"]),
        ("npx @openai/codex mcp-server", Kind.CODEX, PLAIN),
        ("npx -y @openai/codex@latest mcp-server", Kind.CODEX, PLAIN),
        ("npx -p @openai/codex codex mcp-server", Kind.CODEX, PLAIN),
        ("npm exec -- @openai/codex mcp-server", Kind.CODEX, PLAIN),
        ("pnpm dlx @openai/codex mcp-server", Kind.CODEX, PLAIN),
        ("bunx @openai/codex mcp-server", Kind.CODEX, PLAIN),
        ("node /usr/lib/node_modules/@openai/codex/bin/codex.js mcp-server", Kind.CODEX, PLAIN),
        ("env RUST_LOG=debug codex mcp-server", Kind.CODEX, PLAIN),
        ("/usr/bin/env -u X A=b codex mcp-server", Kind.CODEX, PLAIN),
        ("env -S 'A=b codex mcp-server'", Kind.CODEX, PLAIN),
        ("bash -lc 'exec codex mcp-server'", Kind.CODEX, PLAIN),
        ("sh -c 'A=b codex mcp-server'", Kind.CODEX, PLAIN),
        ("cmd /c npx -y @openai/codex mcp-server", Kind.CODEX, PLAIN),
        ("npx -y codex-mcp-server", Kind.SESSIONS, SESSIONS),
        ("npx codex-mcp-server@1.4.10", Kind.SESSIONS, SESSIONS),
        ("codex-mcp-server", Kind.SESSIONS, SESSIONS),
        ("node /opt/codex-mcp-server/dist/index.js", Kind.SESSIONS, SESSIONS),
        ("npx -y @cexll/codex-mcp-server", Kind.BRIDGE, PLAIN),
        ("uvx codex-as-mcp@latest", Kind.BRIDGE, PLAIN),
        ("uvx --from codex-as-mcp codex-as-mcp --yolo", Kind.BRIDGE, PLAIN),
        ("python -m codex_as_mcp", Kind.BRIDGE, PLAIN),
        ("uvx --from git+https://github.com/GuDaStudio/codexmcp.git codexmcp", Kind.BRIDGE, PLAIN),
        ("uv tool run codexmcp", Kind.BRIDGE, PLAIN),
        ("pipx run codex-as-mcp", Kind.BRIDGE, PLAIN),
        ("npx -y @trishchuk/codex-mcp-tool", Kind.BRIDGE, PLAIN),
    ],
)
def test_an_old_server_is_recognised(line: str, kind: Kind, args: list[str]) -> None:
    old = old_server(shlex.split(line))
    assert old is not None
    assert (old.kind, old.args) == (kind, args)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "codex",
        "codex exec mcp-server",
        "codex mcp list",
        "codex app-server",
        "npx -y something",
        "npx",
        "codex-mcp mcp-server",
        "codex-mcp serve",
        "bash -c 'cd /x && codex mcp-server'",
        "bash run-codex-mcp-server.sh",
        "my-codex mcp-server",
        "docker run codex mcp-server",
        "env",
        "bash -c 'unclosed \"",
    ],
)
def test_anything_else_is_left_alone(line: str) -> None:
    assert old_server(line.split() if '"' in line else shlex.split(line)) is None


def test_our_own_program_of_the_wrapper_s_name_is_left_alone() -> None:
    assert old_server(["/home/me/.local/bin/codex-mcp-server"], is_ours=True) is None


def test_variables_of_the_command_line_are_kept() -> None:
    old = old_server(["env", "A=b", "C=d=e", "codex", "mcp-server"])
    assert old is not None
    assert old.environment == {"A": "b", "C": "d=e"}


def test_what_is_left_out_is_said() -> None:
    old = old_server(["codex", "--full-auto", "-C", "/x", "mcp-server"])
    assert old is not None
    assert old.notes == ("--full-auto is left out", "-C is left out")


@given(st.lists(st.sampled_from(["codex", "mcp-server", "-c", "npx", "env", "sh", "A=b", "--", "uvx", "x", "-y", ""])))
def test_no_command_line_is_too_odd(words: list[str]) -> None:
    old = old_server(words)
    assert old is None or old.args[0] == "mcp-server"
