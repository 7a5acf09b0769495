import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from codex_mcp.execserver.launch import ProcessSpec
from codex_mcp.execserver.sandbox.confinement import Confinement, bubblewraps
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.files import CreateDirectory, GetMetadata, OpenFile, OpenMode, WriteFile
from codex_mcp.wire.exec.sandbox import (
    Access,
    Disabled,
    Entry,
    Managed,
    Network,
    PathEntry,
    Permissions,
    ReadOnly,
    RestrictedFiles,
    Sandbox,
    WorkspaceWrite,
)
from tests.support.leaks import take_snapshot

TRUE = ProcessSpec(["/bin/true"], "/", {"LD_PRELOAD": "/evil.so", "SECRET": "x"})


def bundled() -> str:
    return str(Path(bundled_codex_path()).parent.parent / "codex-resources" / "bwrap")


def sandbox(permissions: Permissions) -> Sandbox:
    return Sandbox(permissions, "disabled", cwd="file:///usr")


def test_without_limits_a_launch_stays_as_it_is() -> None:
    for asked in (None, sandbox(Disabled())):
        confined = Confinement([]).confine_process(TRUE, asked)
        assert confined.spec is TRUE
        assert not confined.is_wrapped


def test_limits_that_nothing_here_can_keep_are_refused() -> None:
    for candidates in ([], ["/bin/false"], ["/nonexistent"]):
        with pytest.raises(RequestFailed) as caught:
            Confinement(candidates).confine_process(TRUE, sandbox(ReadOnly()))
        assert caught.value.error.code == -32602
        assert caught.value.error.message == "sandbox intent cannot be enforced on this executor"


def test_a_failure_that_has_passed_refuses_nothing_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fails = tmp_path / "fails"
    fails.touch()
    script = tmp_path / "bwrap"
    script.write_text(f'#!/bin/sh\n[ -e {fails} ] && {{ echo Out of processes >&2; exit 1; }}\nexec {bundled()} "$@"\n')
    script.chmod(0o755)
    confinement = Confinement([str(script)])
    for _ in range(2):
        with pytest.raises(RequestFailed):
            confinement.confine_process(TRUE, sandbox(ReadOnly()))
    assert caplog.text.count("Out of processes") == 2, "the log says why, each time"
    fails.unlink()
    confinement.confine_process(TRUE, sandbox(ReadOnly())).release()


def test_the_log_says_why_bubblewrap_could_not_be_started(caplog: pytest.LogCaptureFixture) -> None:
    for candidates, cause in ((["/nonexistent"], "No such file"), ([], "bubblewrap is not installed")):
        with pytest.raises(RequestFailed):
            Confinement(candidates).confine_process(TRUE, sandbox(ReadOnly()))
        assert cause in caplog.text


def test_the_program_that_sets_limits_runs_without_the_clients_environment() -> None:
    confined = Confinement([bundled()]).confine_process(TRUE, sandbox(ReadOnly()))
    assert confined.is_wrapped
    assert confined.spec.env == {}
    assert not any("SECRET" in word for word in confined.spec.argv)
    confined.release()


def test_a_refused_sandbox_leaves_no_placeholder(tmp_path: Path) -> None:
    (tmp_path / ".aws").symlink_to("elsewhere")
    asked = Sandbox(WorkspaceWrite(), "disabled", cwd=tmp_path.as_uri())
    with pytest.raises(RequestFailed, match="symbolic link"):
        Confinement([bundled()]).confine_process(TRUE, asked)
    assert os.listdir(tmp_path) == [".aws"]


def test_only_what_may_be_limited_goes_to_the_helper() -> None:
    confinement = Confinement([])
    assert not confinement.needs_helper(sandbox(Disabled()), writes=True)
    assert not confinement.needs_helper(sandbox(ReadOnly()), writes=False)
    assert confinement.needs_helper(sandbox(ReadOnly()), writes=True)


def test_bubblewrap_is_looked_for_where_programs_are() -> None:
    assert bundled() in bubblewraps()


@asynccontextmanager
async def confining() -> AsyncIterator[Confinement]:
    found = Confinement([bundled()])
    try:
        yield found
    finally:
        found.close()


def children() -> frozenset[int]:
    return take_snapshot().children


def to_write(work: Path, name: str) -> WriteFile:
    sandbox = Sandbox(WorkspaceWrite(), "disabled", cwd=work.as_uri(), temporary_directories=[])
    return WriteFile(str(work / name), "eA==", sandbox=sandbox)


async def test_file_requests_of_one_policy_share_a_helper(tmp_path: Path) -> None:
    async with confining() as confinement:
        before = children()
        await confinement.file_request(to_write(tmp_path, "a"))
        (helper,) = children() - before
        await confinement.file_request(to_write(tmp_path, "b"))
        opened = OpenFile("h", str(tmp_path / "c"), OpenMode.REPLACE, to_write(tmp_path, "c").sandbox)
        os.close(await confinement.open_file(opened))
        assert children() - before == {helper}
        with pytest.raises(RequestFailed, match="Read-only file system"):
            await confinement.file_request(to_write(tmp_path, ".codex/x"))
        assert sorted(os.listdir(tmp_path)) == [".agents", ".aws", ".codex", ".git", "a", "b", "c"]
        confinement.close()
        assert children() == before
        assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


async def test_what_is_free_finds_no_folders_of_a_helper_that_waits(tmp_path: Path) -> None:
    async with confining() as confinement:
        await confinement.file_request(to_write(tmp_path, "a"))
        confinement.confine_process(TRUE, None).release()
        assert os.listdir(tmp_path) == ["a"]


async def test_who_may_write_what_is_protected_otherwise_finds_no_folder_in_its_place(tmp_path: Path) -> None:
    async with confining() as confinement:
        await confinement.file_request(to_write(tmp_path, "a"))
        rules = [Entry(PathEntry(path), Access.WRITE) for path in (tmp_path.as_uri(), (tmp_path / ".git").as_uri())]
        limits = Sandbox(Managed(RestrictedFiles(rules), Network.RESTRICTED), "disabled", cwd=tmp_path.as_uri())
        await confinement.file_request(CreateDirectory(str(tmp_path / ".git"), recursive=False, sandbox=limits))
        await confinement.file_request(WriteFile(str(tmp_path / ".git/config"), "", sandbox=limits))
        assert (tmp_path / ".git/config").exists()


def removed_and_made(path: Path) -> None:
    path.rmdir()
    path.mkdir()


def moved_and_made(path: Path) -> None:
    path.rename(path.with_name("old"))
    path.mkdir()


@pytest.mark.parametrize("change", [removed_and_made, moved_and_made])
@pytest.mark.parametrize("name", [".git", ".codex"])
async def test_a_kept_helper_has_no_more_rights_than_a_new_one(
    name: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    async with confining() as confinement:
        (tmp_path / ".git").mkdir()
        await confinement.file_request(to_write(tmp_path, "a"))
        for _ in range(3):
            change(tmp_path / name)
            with pytest.raises(RequestFailed, match="Read-only file system"):
                await confinement.file_request(to_write(tmp_path, f"{name}/x"))
            if (tmp_path / "old").exists():
                (tmp_path / "old").rmdir()


async def test_what_is_hidden_stays_hidden_from_a_kept_helper(tmp_path: Path) -> None:
    async with confining() as confinement:
        rules = [
            Entry(PathEntry(tmp_path.as_uri()), Access.READ),
            Entry(PathEntry((tmp_path / "s").as_uri()), Access.DENY),
        ]
        limits = Sandbox(Managed(RestrictedFiles(rules), Network.RESTRICTED), "disabled", cwd=tmp_path.as_uri())
        asked = GetMetadata(str(tmp_path / "s/key"), sandbox=limits)
        for _ in range(3):
            with pytest.raises(RequestFailed):
                await confinement.file_request(asked)
            (tmp_path / "s").mkdir()
            (tmp_path / "s/key").touch()
            with pytest.raises(RequestFailed):
                await confinement.file_request(asked)
            (tmp_path / "s/key").unlink()
            (tmp_path / "s").rmdir()
