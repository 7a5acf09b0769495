"""Confined processes try to change what runs later, such as hooks of repositories, and to reach the machine outside."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.exec.recordings.files import READ_ONLY, at, sandbox, special
from tests.support.exec.wire import Json, Target, session, target


def limits(here: Target, *more: Json, network: str = "restricted") -> Json:
    return sandbox(here, special("root", "read"), special("project_roots", "write"), *more, network=network)


async def run(here: Target, script: str, asked: Json, **more: object) -> str:
    async with session(here.url) as wire:
        params = here.shell("p", f"({script}) 2>&1", sandbox=asked, cwd=here.uri("w"), **more)
        said, _ = await wire.run(params)
        return said


def pointer(file: Path, target: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"gitdir: {target}\n")


async def test_hooks_behind_any_kind_of_pointer_stay_as_they_are(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = here.folder / "w"
        for name in (".bare/hooks", "shared/git/worktrees/tree", "nested/.git/hooks", "stores/module/hooks"):
            (work / name).mkdir(parents=True)
        pointer(work / ".git", "./.bare")
        pointer(work / "tree/.git", str(work / "shared/git/worktrees/tree"))
        (work / "shared/git/worktrees/tree/commondir").write_text("../..\n")
        pointer(work / "module/.git", "../stores/module")
        files = (
            ".git",
            ".bare/hooks/post-checkout",
            ".bare/config",
            "shared/git/hooks/pre-commit",
            "shared/git/config",
            "shared/git/worktrees/tree/commondir",
            "nested/.git/config",
            "module/.git",
            "stores/module/config",
        )
        tries = [f"echo x > {name} && echo CHANGED {name}" for name in files]
        moves = ["mv .bare x", "mv shared x", "mv stores x", "mv nested/.git x", "rm -rf .bare && mkdir .bare"]
        said = await run(here, "; ".join([*tries, *(f"{words} && echo MOVED" for words in moves)]), limits(here))
        assert "CHANGED" not in said
        assert "MOVED" not in said
        assert (work / ".git").read_text() == "gitdir: ./.bare\n"
        async with session(here.url) as wire:
            for name in files:
                asked = {"path": here.uri(f"w/{name}"), "dataBase64": "", "sandbox": limits(here)}
                code, _ = await wire.error("fs/writeFile", asked)
                assert code == READ_ONLY[0] or not (work / name).parent.exists()


async def test_ordinary_work_beside_protected_repositories_goes_on(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = here.folder / "w"
        for name in (".bare", "nested/.git/hooks", "nested/src"):
            (work / name).mkdir(parents=True)
        pointer(work / ".git", "./.bare")
        script = (
            "echo x > file; echo x > nested/src/file; mv nested/src nested/code; mkdir -p new/.git/hooks; "
            "echo x > new/.git/hooks/x; rm -rf new; cat nested/code/file"
        )
        assert await run(here, script, limits(here)) == "x\n"
        assert sorted(os.listdir(work)) == [".bare", ".git", "file", "nested"]


async def test_temporary_folders_are_protected_as_well(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        (here.folder / "w").mkdir()
        temporary = here.folder / "temporary"
        temporary.mkdir()
        asked = limits(here, special("tmpdir", "write"))
        names = [".git", ".codex", ".agents", ".aws"]
        tries = "; ".join(f"mkdir $TMPDIR/{name} && echo MADE" for name in names)
        env = {"TMPDIR": str(temporary), "PATH": "/usr/bin:/bin"}
        said = await run(here, f"{tries}; echo x > $TMPDIR/file && cat $TMPDIR/file", asked, env=env)
        assert "MADE" not in said
        assert said.endswith("x\n")
        assert os.listdir(temporary) == ["file"]


@contextlib.contextmanager
def listening(path: Path) -> Iterator[None]:
    """A socket at this path, which is removed afterwards."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        try:
            yield
        finally:
            path.unlink()


CONNECT = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(sys.argv[1]); print('CONNECTED')"
)


async def test_codexs_daemon_cannot_be_reached_with_network_either(tmp_path: Path) -> None:
    folder = Path("/", "tmp", f"codex-daemon-{os.geteuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    async with target(tmp_path) as here:
        work = here.folder / "w"
        work.mkdir()
        with listening(folder / f"test-{os.getpid()}") as _, listening(work / "s"):
            for asked in (
                limits(here, network="enabled"),
                limits(here, special("slash_tmp", "write"), network="enabled"),
            ):
                said = await run(here, f'python3 -c "{CONNECT}" {folder}/test-{os.getpid()}', asked)
                assert "PermissionError" in said
                assert await run(here, f'python3 -c "{CONNECT}" s', asked) == "CONNECTED\n", "other sockets are reached"


async def test_a_link_left_by_one_process_gives_the_next_no_more_rights(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        (here.folder / "w").mkdir()
        (here.folder / "outside").mkdir()
        asked = limits(here, at(here.uri("w/out"), "write"))
        await run(here, "ln -s ../outside out", asked)
        assert "Read-only file system" in await run(here, "echo x > out/file", asked)
        assert os.listdir(here.folder / "outside") == []


async def test_what_is_granted_inside_a_hidden_folder_can_be_used(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        hidden = here.folder / "w/hidden"
        (hidden / "open").mkdir(parents=True)
        (hidden / "secret").write_text("SECRET")
        for access in ("read", "write"):
            (hidden / "open/file").write_text("shown\n")
            inner = [at(here.uri("w/hidden"), "deny"), at(here.uri("w/hidden/open"), access)]
            said = await run(here, "cat hidden/open/file; cat hidden/secret; ls hidden", limits(here, *inner))
            assert said.startswith("shown\n")
            assert "SECRET" not in said
            assert "cannot open directory" in said
            written = await run(here, "echo x > hidden/open/file && echo WRITTEN", limits(here, *inner))
            assert ("WRITTEN" in written) is (access == "write")
            async with session(here.url) as wire:
                asked = {"path": here.uri("w/hidden/open/file"), "sandbox": limits(here, *inner)}
                assert (await wire.call("fs/readFile", asked))["dataBase64"]


async def test_without_workspace_roots_nothing_of_the_project_is_writable(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        (here.folder / "w").mkdir()
        nothing: list[Json] = [{"workspaceRoots": []}, {"policyContext": {"cwd": here.uri("w"), "workspaceRoots": []}}]
        for change in nothing:
            assert "Read-only file system" in await run(here, "touch x", {**limits(here), **change})
        absent = {key: value for key, value in limits(here).items() if key != "workspaceRoots"}
        assert "Read-only file system" in await run(here, "touch x", absent)
        named = {**limits(here, special("tmpdir", "write")), "temporaryDirectories": [here.uri()]}
        assert "Read-only file system" in await run(here, "touch ../x", named)


CALLS = {
    "keyctl": "libc.syscall(KEYCTL, 0, -3, 0) != -1",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "ptrace": "libc.ptrace(0, 0, 0, 0) != -1",
    "datagram": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "datagrams": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "pair": "socket.socketpair()",
    "stream": "socket.socket(socket.AF_UNIX)",
}
"""Each changes nothing, whether it is allowed or not."""

TRY_CALLS = f"""
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
KEYCTL = 250 if os.uname().machine == "x86_64" else 219
for name, words in {CALLS!r}.items():
    try:
        print(name, bool(eval(words)))
    except OSError as exc:
        print(name, exc.errno == 1 and "refused")
"""


@pytest.mark.parametrize(
    ("network", "allowed"),
    [("restricted", {"pair", "stream"}), ("enabled", {"pair", "stream", "datagram", "datagrams", "ptrace"})],
)
async def test_calls_that_reach_outside_are_refused(network: str, allowed: set[str], tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        (here.folder / "w").mkdir()
        (here.folder / "w/try.py").write_text(TRY_CALLS)
        said = await run(here, "python3 -I try.py", limits(here, network=network))
        outcomes = dict(line.split() for line in said.splitlines())
        assert {name for name, outcome in outcomes.items() if outcome == "True"} == allowed
        assert set(outcomes) == set(CALLS)
