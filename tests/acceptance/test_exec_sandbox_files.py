"""Confined file requests try to get out, each by a new helper and by one that has been kept."""

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.support.exec.recordings.files import READ_ONLY, at, sandbox, special
from tests.support.exec.wire import Json, Target, Wire, session, target

AGAIN = 3
"""The first time a helper is started, then it is kept."""

EXCHANGES = 150
"""Requests made while their paths are being replaced."""

AT_FDCWD = -100
RENAME_EXCHANGE = 2
"""From linux/fcntl.h and linux/fs.h."""


def project(here: Target) -> Json:
    """Read everything, write to the folder `w` only."""
    return sandbox(here, special("root", "read"), special("project_roots", "write"))


def little(here: Target) -> Json:
    """See nothing but what programs need, and the folder `w`."""
    return sandbox(here, special("minimal", "read"), special("project_roots", "read"))


def furnished(here: Target) -> Path:
    work = here.folder / "w"
    (work / ".git/hooks").mkdir(parents=True)
    (work / ".git/config").write_text("untouched")
    (work / "inside").write_text("inside")
    (work / "link").symlink_to("../outside")
    (work / "to-git").symlink_to(".git")
    (work / "to-codex").symlink_to(".codex")
    (work / "up").symlink_to("..")
    (here.folder / "outside").write_text("untouched")
    return work


async def refused(wire: Wire, method: str, params: Json) -> None:
    """It is answered with an error; a success is named."""
    answer = await wire.answer(wire.ask(method, params))
    assert "error" in answer, (method, params)


def ways_out(here: Target) -> list[str]:
    """Names for the file outside, and for what is protected."""
    folder = here.uri()
    return [
        f"{folder}/outside",
        f"{folder}/w/../outside",
        f"{folder}/w/%2e%2e/outside",
        f"{folder}/w/link",
        f"{folder}/w/up/outside",
        f"file:///proc/1/root{here.folder}/outside",
        f"file:///proc/self/root{here.folder}/outside",
        f"file:///proc/self/cwd{here.folder}/outside",
        f"{folder}/w/.git/config",
        f"{folder}/w/./.git/config",
        f"{folder}/w/to-git/config",
        f"{folder}/w/up/w/.git/config",
        f"{folder}/w/.git/hooks/pre-commit",
        f"{folder}/w/.codex",
        f"{folder}/w/.codex/config.toml",
        f"{folder}/w/to-codex",
        f"{folder}/w/to-codex/config.toml",
        f"{folder}/w/.agents/skills",
        f"{folder}/w/.aws/credentials",
    ]


async def test_nothing_outside_is_written_by_any_way(tmp_path: Path) -> None:
    async with target(tmp_path) as here, session(here.url) as wire:
        work, limits = furnished(here), {"sandbox": project(here)}
        for _ in range(AGAIN):
            for path in ways_out(here):
                await refused(wire, "fs/writeFile", {"path": path, "dataBase64": "eA==", **limits})
                await refused(wire, "fs/open", {"path": path, "handleId": "h", "mode": "replace", **limits})
                await refused(wire, "fs/createDirectory", {"path": f"{path}/new", **limits})
                copied = {"sourcePath": here.uri("w/inside"), "destinationPath": path, "recursive": False}
                await refused(wire, "fs/copy", {**copied, **limits})
        for path in [here.uri("outside"), here.uri("w/up/outside"), here.uri("w/.git"), here.uri("w/to-git/config")]:
            await refused(wire, "fs/remove", {"path": path, "recursive": True, **limits})
        await wire.call("fs/writeFile", {"path": here.uri("w/allowed"), "dataBase64": "eA==", **limits})
        assert (here.folder / "outside").read_text() == "untouched"
        assert (work / ".git/config").read_text() == "untouched"
        assert os.listdir(work / ".git/hooks") == []
        await wire.call("fs/remove", {"path": here.uri("w/none")})  # what is free sends the helper away
        assert sorted(os.listdir(work)) == [".git", "allowed", "inside", "link", "to-codex", "to-git", "up"]


async def test_nothing_hidden_is_read_by_any_way(tmp_path: Path) -> None:
    async with target(tmp_path) as here, session(here.url) as wire:
        work, limits = furnished(here), {"sandbox": little(here)}
        (work / "secret").write_text("SECRET")
        denied = sandbox(here, special("root", "read"), at(here.uri("w/secret"), "deny"))
        for _ in range(AGAIN):
            for path in ways_out(here)[:8]:
                await refused(wire, "fs/readFile", {"path": path, **limits})
                await refused(wire, "fs/open", {"path": path, "handleId": "h", **limits})
                await refused(wire, "fs/getMetadata", {"path": f"{path}", **limits})
            for path in [here.uri("w/secret"), here.uri("w/up/w/secret"), f"file:///proc/self/root{work}/secret"]:
                await refused(wire, "fs/readFile", {"path": path, "sandbox": denied})
                copied = {"sourcePath": path, "destinationPath": here.uri("w/copy"), "recursive": False}
                await refused(wire, "fs/copy", {**copied, "sandbox": denied})
            seen = await wire.call("fs/readFile", {"path": here.uri("w/inside"), **limits})
            assert seen == {"dataBase64": "aW5zaWRl"}


async def test_a_helper_sees_no_process_and_holds_no_file_but_its_own(tmp_path: Path) -> None:
    async with target(tmp_path) as here, session(here.url) as wire:
        furnished(here)

        async def names(path: str) -> set[str]:
            found = await wire.call("fs/readDirectory", {"path": path, "sandbox": little(here)})
            entries = found["entries"]
            assert isinstance(entries, list)
            return {entry["fileName"] for entry in entries}

        for _ in range(AGAIN):
            assert {name for name in await names("file:///proc") if name.isdigit()} <= {"1", "2", "3"}
            assert await names("file:///proc/self/fd") <= {"0", "1", "2", "3"}
            await refused(wire, "fs/readFile", {"path": f"file:///proc/{os.getpid()}/environ", "sandbox": little(here)})


async def test_devices_and_settings_of_the_kernel_are_not_opened(tmp_path: Path) -> None:
    async with target(tmp_path) as here, session(here.url) as wire:
        furnished(here)
        # Opened only, never written: if it worked, it would be this very machine.
        paths = [
            "/dev/null",
            "/dev/mem",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/hostname",
            "/proc/sysrq-trigger",
        ]
        for _ in range(AGAIN):
            for path in paths:
                asked: Json = {"path": f"file://{path}", "handleId": "h", "mode": "replace", "sandbox": project(here)}
                await refused(wire, "fs/open", asked)
            for path in ["/dev/zero", "/dev/mem"]:
                await refused(wire, "fs/readFile", {"path": f"file://{path}", "sandbox": little(here)})


@contextlib.contextmanager
def exchanging(path: Path, outside: Path) -> Iterator[None]:
    """Keep replacing what is at the path with a link to the outside and back, without a gap."""
    stop, other = threading.Event(), path.with_name("other")
    other.symlink_to(outside)
    exchange = ctypes.CDLL(None).renameat2

    def exchange_always() -> None:
        while not stop.is_set():
            assert exchange(AT_FDCWD, os.fsencode(path), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0

    thread = threading.Thread(target=exchange_always)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


async def test_a_folder_exchanged_for_a_link_during_the_call_leads_nowhere(tmp_path: Path) -> None:
    async with target(tmp_path) as here, session(here.url) as wire:
        work, limits = furnished(here), project(here)
        elsewhere = here.folder / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "file").write_text("untouched")
        inner, source = here.uri("w/target/file"), here.uri("w/inside")
        (work / "target").mkdir()
        with exchanging(work / "target", elsewhere):
            for _ in range(EXCHANGES // 5):
                requests: list[tuple[str, Json]] = [
                    ("fs/writeFile", {"path": inner, "dataBase64": "eA=="}),
                    ("fs/open", {"path": inner, "handleId": "h", "mode": "replace"}),
                    ("fs/remove", {"path": inner}),
                    ("fs/createDirectory", {"path": here.uri("w/target/new/deep")}),
                    ("fs/copy", {"sourcePath": source, "destinationPath": inner, "recursive": False}),
                ]
                for method, params in requests:
                    await wire.answer(wire.ask(method, params | {"sandbox": limits}))
                    await wire.call("fs/close", {"handleId": "h"})
        assert os.listdir(elsewhere) == ["file"]
        assert (elsewhere / "file").read_text() == "untouched"


async def test_a_file_exchanged_for_a_link_during_the_call_shows_nothing(tmp_path: Path) -> None:
    async with target(tmp_path) as here, session(here.url) as wire:
        work = furnished(here)
        read = {"path": here.uri("w/target"), "sandbox": little(here)}
        write = {"path": here.uri("w/target"), "dataBase64": "eA==", "sandbox": project(here)}
        (work / "target").touch()
        with exchanging(work / "target", here.folder / "outside"):
            for _ in range(EXCHANGES):
                answer = await wire.answer(wire.ask("fs/readFile", read))
                assert answer.get("result") in (None, {"dataBase64": ""}, {"dataBase64": "eA=="})
                error = (await wire.answer(wire.ask("fs/writeFile", write))).get("error")
                assert error is None or isinstance(error, dict)
                assert error is None or (error["code"], error["message"]) == READ_ONLY
        assert (here.folder / "outside").read_text() == "untouched"
