"""Which command lines are ours, which are old servers, and what replaces them."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.clients.recognition.servers import Buried, Old, Ours, ServerKind, recognised

PLAIN = ["mcp-server"]
SESSIONS = ["mcp-server", "--tools", "sessions"]


@pytest.mark.parametrize(
    ("line", "kind", "args"),
    [
        ("codex mcp-server", ServerKind.CODEX, PLAIN),
        ("codex mcp", ServerKind.CODEX, PLAIN),
        ("codex mcp serve", ServerKind.CODEX, PLAIN),
        ("/usr/local/bin/codex mcp-server", ServerKind.CODEX, PLAIN),
        ("codex.exe mcp-server", ServerKind.CODEX, PLAIN),
        ("""codex -c model='"o3"' mcp-server""", ServerKind.CODEX, [*PLAIN, "-c", 'model="o3"']),
        ("codex mcp-server --config=a=1 -p work", ServerKind.CODEX, [*PLAIN, "-c", "a=1", "-p", "work"]),
        (
            "codex -m o3 --sandbox read-only mcp-server",
            ServerKind.CODEX,
            [*PLAIN, *("-c", 'model="o3"', "-c", 'sandbox_mode="read-only"')],
        ),
        ("codex --enable x mcp-server --disable y", ServerKind.CODEX, [*PLAIN, "--enable", "x", "--disable", "y"]),
        ("npx @openai/codex mcp-server", ServerKind.CODEX, PLAIN),
        ("npx -y @openai/codex@latest mcp-server", ServerKind.CODEX, PLAIN),
        ("npx -p @openai/codex codex mcp-server", ServerKind.CODEX, PLAIN),
        ("npm exec -- @openai/codex mcp-server", ServerKind.CODEX, PLAIN),
        ("pnpm dlx @openai/codex mcp-server", ServerKind.CODEX, PLAIN),
        ("bunx @openai/codex mcp-server", ServerKind.CODEX, PLAIN),
        ("node /usr/lib/node_modules/@openai/codex/bin/codex.js mcp-server", ServerKind.CODEX, PLAIN),
        ("env RUST_LOG=debug codex mcp-server", ServerKind.CODEX, PLAIN),
        ("/usr/bin/env -u X A=b codex mcp-server", ServerKind.CODEX, PLAIN),
        ("env -S 'A=b codex mcp-server'", ServerKind.CODEX, PLAIN),
        ("bash -lc 'exec codex mcp-server'", ServerKind.CODEX, PLAIN),
        ("sh -c 'A=b codex mcp-server'", ServerKind.CODEX, PLAIN),
        ("cmd /c npx -y @openai/codex mcp-server", ServerKind.CODEX, PLAIN),
        ("npx -y codex-mcp-server", ServerKind.SESSIONS, SESSIONS),
        ("npx codex-mcp-server@1.4.10", ServerKind.SESSIONS, SESSIONS),
        ("codex-mcp-server", ServerKind.SESSIONS, SESSIONS),
        ("node /opt/codex-mcp-server/dist/index.js", ServerKind.SESSIONS, SESSIONS),
        ("npx -y @cexll/codex-mcp-server", ServerKind.BRIDGE, PLAIN),
        ("uvx codex-as-mcp@latest", ServerKind.BRIDGE, PLAIN),
        ("uvx --from codex-as-mcp codex-as-mcp --yolo", ServerKind.BRIDGE, PLAIN),
        ("python -m codex_as_mcp", ServerKind.BRIDGE, PLAIN),
        ("uvx --from git+https://github.com/GuDaStudio/codexmcp.git codexmcp", ServerKind.BRIDGE, PLAIN),
        ("uv tool run codexmcp", ServerKind.BRIDGE, PLAIN),
        ("pipx run codex-as-mcp", ServerKind.BRIDGE, PLAIN),
        ("npx -y @trishchuk/codex-mcp-tool", ServerKind.BRIDGE, PLAIN),
    ],
)
def test_an_old_server_is_recognised(line: str, kind: ServerKind, args: list[str]) -> None:
    old = recognised(shlex.split(line))
    assert isinstance(old, Old)
    assert (old.kind, old.args) == (kind, args)


MORE = [
    r"C:\Users\me\AppData\Roaming\npm\codex.cmd mcp-server",
    r"C:\nodejs\npx.cmd -y @openai/codex mcp-server",
    "/home/me/.asdf/shims/codex mcp-server",
    "/home/me/.nvm/versions/node/v22.1.0/bin/codex mcp-server",
    "/home/me/node_modules/.bin/codex mcp-server",
    "python3.12 -m codex_as_mcp",
    "npm exec --yes --package=@openai/codex -- codex mcp-server",
    "deno run -A npm:@openai/codex mcp-server",
    "npx -y @openai/codex -- mcp-server",
]


@pytest.mark.parametrize("line", MORE)
def test_an_old_server_is_recognised_wherever_it_is(line: str) -> None:
    assert isinstance(recognised(line.split()), Old)


@pytest.mark.parametrize("line", ["codex mcp-server", "npx -y codex-mcp-server", "uvx codex-as-mcp@latest"])
def test_a_whole_line_in_one_string_is_recognised(line: str) -> None:
    assert recognised([line]) == recognised(line.split())


THROUGH = {
    "docker run -i --rm image codex mcp-server": "docker run",
    "ssh box codex mcp-server": "ssh box",
    "ssh box 'codex mcp-server'": "ssh box",
    "wsl.exe codex mcp-server": "wsl.exe",
    "wsl.exe -e bash -lc 'codex mcp-server'": "wsl.exe",
    "sudo -u me codex mcp-server": "sudo",
    "timeout 3600 codex mcp-server": "timeout",
    "nice -n 5 codex mcp": "nice",
    "mise exec -- codex mcp-server": "mise exec",
    "mise x node@22 -- npx -y @openai/codex mcp-server": "mise x",
    "asdf exec codex mcp-server": "asdf exec",
    "volta run codex mcp-server": "volta run",
    "fnm exec --using 22 codex mcp-server": "fnm exec",
    "bash -c 'source ~/.nvm/nvm.sh && codex mcp-server'": "bash -c",
    "bash -c 'cd /x && codex mcp-server'": "bash -c",
    "bash -lc 'nvm use 22 >/dev/null; exec codex -c a=b mcp-server 2>/dev/null'": "bash -c",
    """bash -c 'codex mcp-server "$@"' --""": "bash -c",
    "sh -c 'codex -c model=$MODEL mcp-server'": "sh -c",
    "zsh -c 'while true; do codex mcp-server; done'": "zsh -c",
    "cmd.exe /c 'codex mcp-server'": "cmd.exe",
    "powershell -Command '& codex mcp-server'": "powershell",
    "npx -c 'codex mcp-server'": "npx -c",
    "npx -y supergateway --stdio 'npx -y codex-mcp-server'": "npx",
    "op run -- codex mcp-server": "op run",
    "'cd x && codex mcp-server'": "one string",
}


@pytest.mark.parametrize("line", THROUGH)
def test_what_cannot_be_left_out_is_named(line: str) -> None:
    found = recognised(shlex.split(line))
    assert isinstance(found, Buried)
    assert found.through == THROUGH[line]


@given(
    line=st.sampled_from(["codex mcp-server", "npx -y @openai/codex mcp-server", "codex-mcp-server"]), before=st.text()
)
def test_behind_anything_an_old_server_is_found(line: str, before: str) -> None:
    words = ["launcher", before, "--", *line.split()]
    assert isinstance(recognised(words), Buried)


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
        "npx codex-mcp serve",
        "codex-mcp doctor",
        "bash run-codex-mcp-server.sh",
        "my-codex mcp-server",
        "docker run --name codex-mcp-server image",
        "docker run --name codex mcp-server",
        "python -c 'import codex_mcp'",
        "env",
        "bash -c 'unclosed \"",
    ],
)
def test_anything_else_is_left_alone(line: str) -> None:
    assert recognised(line.split() if '"' in line else shlex.split(line)) is None


OWN = [
    "codex-mcp mcp-server",
    "/venv/bin/codex-mcp serve --team red",
    "/venv/bin/codex-mcp",
    "python3 -m codex_mcp mcp-server",
    "/venv/bin/python -m codex_mcp serve",
    "env A=b /venv/bin/codex-mcp mcp-server",
    "uvx codex-mcp mcp-server",
    "uvx codex-mcp@latest serve",
    "uvx --from codex-mcp codex-mcp-server",
    "uvx --from=codex-mcp codex-mcp-server",
    "uvx --from git+https://github.com/me/codex-mcp codex-mcp-server",
    "uvx --from git+https://github.com/me/codex-mcp.git@v1 codex-mcp-server",
    "uvx --from 'codex-mcp[otel]>=0.2' codex-mcp-server",
    "uvx --from ./dist/codex_mcp-0.2.0-py3-none-any.whl codex-mcp-server",
    "uvx --from git+x codex-mcp mcp-server",
    "uv tool run --from codex-mcp codex-mcp-server",
    "uv run --directory /x codex-mcp mcp-server",
    "pipx run --spec codex-mcp codex-mcp-server",
    "wsl.exe codex-mcp mcp-server",
    "ssh box codex-mcp serve",
    "timeout 60 codex-mcp mcp-server",
    "bash -lc 'codex-mcp mcp-server'",
    "bash -c 'source ~/.profile && exec /venv/bin/codex-mcp mcp-server'",
    "'codex-mcp mcp-server'",
]


@pytest.mark.parametrize("line", OWN)
def test_our_server_is_recognised(line: str) -> None:
    assert isinstance(recognised(shlex.split(line)), Ours)


@pytest.mark.parametrize(
    ("line", "program", "serving"),
    [
        ("/x/codex-mcp mcp-server -c a=b", ["/x/codex-mcp"], "mcp-server"),
        ("env A=b /x/codex-mcp serve", ["/x/codex-mcp"], "serve"),
        ("/x/python -m codex_mcp mcp-server", ["/x/python", "-m", "codex_mcp"], "mcp-server"),
        ("env A=b python -m codex_mcp serve", ["python", "-m", "codex_mcp"], "serve"),
        ("/x/codex-mcp", ["/x/codex-mcp"], None),
        ("uvx codex-mcp serve", None, "serve"),
        ("ssh box codex-mcp serve", None, None),
    ],
)
def test_the_words_that_name_our_program_are_known(line: str, program: list[str] | None, serving: str | None) -> None:
    words = line.split()
    ours = recognised(words)
    assert isinstance(ours, Ours)
    assert (None if ours.start is None else words[ours.start : ours.end]) == program
    assert (None if ours.serving is None else words[ours.serving]) == serving


def test_the_wrapper_s_name_is_ours_if_its_program_is() -> None:
    for words in (["/home/me/.local/bin/codex-mcp-server"], ["codex-mcp-server"], ["env", "A=b", "codex-mcp-server"]):
        assert isinstance(recognised(words, lambda _: True), Ours)
        assert isinstance(recognised(words, lambda _: False), Old)
    assert isinstance(recognised(["npx", "-y", "codex-mcp-server"], lambda _: True), Old)


def test_variables_of_the_command_line_are_kept() -> None:
    old = recognised(["env", "A=b", "C=d=e", "codex", "mcp-server"])
    assert isinstance(old, Old)
    assert old.environment == {"A": "b", "C": "d=e"}


def test_what_is_left_out_is_said() -> None:
    old = recognised(["env", "-u", "X", "codex", "--full-auto", "-C", "/x", "mcp-server"])
    assert isinstance(old, Old)
    assert old.notes == ("-u X of env is left out", "--full-auto is left out", "-C is left out")


WORDS = [
    "codex",
    "mcp-server",
    "-c",
    "npx",
    "env",
    "sh",
    "A=b",
    "--",
    "uvx",
    "x",
    "-y",
    "",
    "codex-mcp",
    "-m",
    "python",
]


@given(words=st.lists(st.sampled_from(WORDS) | st.text(max_size=5)), is_ours=st.booleans())
def test_no_command_line_is_too_odd(words: list[str], *, is_ours: bool) -> None:
    match recognised(words, lambda _: is_ours):
        case Old(args=args):
            assert args[0] == "mcp-server"
        case Ours(start=int(start), end=end):
            assert 0 <= start < end <= len(words)
