"""Scenes of file requests, free and confined, after the recordings of 0.166.0."""

from tests.support.exec.wire import Json, Target, Wire, session

MISSING = (-32004, "No such file or directory (os error 2)")
READ_ONLY = (-32603, "Read-only file system (os error 30)")


async def small_files(target: Target) -> None:
    async with session(target.url) as wire:
        deep = {"path": target.uri("a/b/c")}
        assert await wire.call("fs/createDirectory", deep) == {}
        assert await wire.call("fs/createDirectory", deep) == {}
        assert await wire.error("fs/createDirectory", deep | {"recursive": False}) == (
            -32603,
            "File exists (os error 17)",
        )
        assert await wire.error("fs/createDirectory", {"path": target.uri("q/w"), "recursive": False}) == MISSING
        hello = {"path": target.uri("a/hello.txt")}
        assert await wire.call("fs/writeFile", hello | {"dataBase64": "aGVsbG8gd29ybGQK"}) == {}
        for end in ("", "/", "/.", "/x/.."):
            same = {"path": target.uri("a/hello.txt") + end}
            assert await wire.call("fs/readFile", same) == {"dataBase64": "aGVsbG8gd29ybGQK"}
            assert await wire.call("fs/writeFile", same | {"dataBase64": "aGVsbG8gd29ybGQK"}) == {}
        bad = "fs/writeFile requires valid base64 dataBase64: Invalid symbol 64, offset 0."
        assert await wire.error("fs/writeFile", hello | {"dataBase64": "@@@"}) == (-32600, bad)
        nowhere = {"path": target.uri("missing/x.txt"), "dataBase64": ""}
        assert await wire.error("fs/writeFile", nowhere) == MISSING
        folder = {"path": target.uri("a")}
        assert await wire.error("fs/writeFile", folder | {"dataBase64": ""}) == (-32603, "Is a directory (os error 21)")
        assert await wire.error("fs/readFile", {"path": target.uri("a/nope")}) == MISSING
        for name in ["a", "gate"]:
            text = f"path `{target.folder / name}` is not a file"
            assert await wire.error("fs/readFile", {"path": target.uri(name)}) == (-32600, text)
        assert await wire.error("fs/readFile", {"path": "file:///dev/zero"}) == (
            -32600,
            "path `/dev/zero` is not a file",
        )
        code, text = await wire.error("fs/readFile", {"path": "relative.txt"})
        assert (code, text) == (-32602, "invalid URI: relative URL without a base")
        assert (await wire.call("fs/readFile", {"path": "file:///proc/self/status"}))["dataBase64"]


async def links_and_metadata(target: Target) -> None:
    (target.folder / "hello").write_text("hello world\n")
    (target.folder / "sub").mkdir()
    (target.folder / "link").symlink_to("hello")
    (target.folder / "dirlink").symlink_to("sub")
    (target.folder / "dangling").symlink_to("nowhere")
    async with session(target.url) as wire:

        async def kind(name: str, **more: object) -> tuple[object, ...]:
            found = await wire.call("fs/getMetadata", {"path": target.uri(name), **more})
            return found["isDirectory"], found["isFile"], found["isSymlink"]

        assert await kind("hello") == (False, True, False)
        assert await kind("link") == (False, True, True)
        assert await kind("dirlink") == (True, False, True)
        assert await kind("gate") == (False, False, False)
        assert await kind("hello", followSymlinks=False) == (False, True, False)
        found = await wire.call("fs/getMetadata", {"path": target.uri("hello")})
        assert found["size"] == 12
        assert found["modifiedAtMs"] == (target.folder / "hello").stat().st_mtime_ns // 1_000_000
        for name in ["dangling", "none"]:
            assert await wire.error("fs/getMetadata", {"path": target.uri(name)}) == MISSING
        await _links_not_followed(wire, target)
        for path, real in [("dirlink/../link", "hello"), ("sub/./x/..", "sub"), ("hello", "hello")]:
            answer = await wire.call("fs/canonicalize", {"path": target.uri(path)})
            assert answer == {"path": target.uri(real)}
        assert await wire.error("fs/canonicalize", {"path": target.uri("none")}) == MISSING


async def _links_not_followed(wire: Wire, target: Target) -> None:
    def of(name: str) -> Json:
        return {"path": target.uri(name), "followSymlinks": False}

    loop = (-32603, "Symbolic link loop (os error 40)")
    assert await wire.error("fs/getMetadata", of("link")) == (-32600, "path contains a symbolic link")
    assert await wire.error("fs/getMetadata", of("dirlink/c")) == (-32603, "Not a directory (os error 20)")
    assert await wire.error("fs/readFile", of("link")) == loop
    assert await wire.error("fs/writeFile", of("link") | {"dataBase64": "eA=="}) == loop
    assert await wire.error("fs/createDirectory", of("dirlink/n")) == (-32603, "Not a directory (os error 20)")
    once = {"recursive": False}
    assert await wire.error("fs/remove", of("link") | once) == (-32600, "path contains a symbolic link")
    text = "recursive no-follow removal is unsupported"
    assert await wire.error("fs/remove", of("sub")) == (-32603, text)


async def folders(target: Target) -> None:
    for name in ["a/b/c", "def/ault"]:
        (target.folder / name).mkdir(parents=True)
    (target.folder / "a/hello.txt").write_text("x")
    (target.folder / "a/link").symlink_to("hello.txt")
    (target.folder / "a/dirlink").symlink_to("b")
    (target.folder / "a/dangling").symlink_to("nowhere")
    async with session(target.url) as wire:
        listed = (await wire.call("fs/readDirectory", {"path": target.uri("a")}))["entries"]
        assert isinstance(listed, list)
        assert sorted((entry["fileName"], entry["isDirectory"], entry["isFile"]) for entry in listed) == [
            ("b", True, False),
            ("dirlink", True, False),
            ("hello.txt", False, True),
            ("link", False, True),
        ]
        not_a_folder = (-32603, "Not a directory (os error 20)")
        assert await wire.error("fs/readDirectory", {"path": target.uri("a/hello.txt")}) == not_a_folder
        assert await wire.error("fs/readDirectory", {"path": target.uri("zz")}) == MISSING
        await _walks(wire, target)


async def _walks(wire: Wire, target: Target) -> None:
    async def walked(path: str = "", **more: object) -> tuple[list[str], object]:
        options = {"maxDepth": 8, "maxDirectories": 100, "maxEntries": 1000, "followDirectorySymlinks": False} | more
        answer = await wire.call("fs/walk", {"path": target.uri(path), "options": options})
        entries = answer["entries"]
        assert isinstance(entries, list)
        assert answer["errors"] == []
        return [entry["path"].removeprefix(target.uri() + "/") for entry in entries], answer["truncated"]

    everything = ["a", "def", "a/b", "a/hello.txt", "def/ault", "a/b/c"]
    assert await walked() == (everything, False)
    linked = ["a", "def", "a/b", "a/dirlink", "a/hello.txt", "def/ault", "a/b/c"]
    assert await walked(followDirectorySymlinks=True) == (linked, False)
    assert await walked(maxEntries=2) == (["a", "def"], True)
    assert await walked(maxDepth=0) == (["a", "def"], False)
    assert await walked("a/hello.txt") == ([], False)
    assert await walked("a/dirlink") == ([], False)
    assert await walked("a/dirlink", followDirectorySymlinks=True) == (["a/dirlink/c"], False)
    for options, text in [
        ({"maxDepth": 65}, "filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000"),
        ({"maxEntries": 0}, "filesystem walk limits must be greater than zero"),
    ]:
        limits = {"maxDepth": 8, "maxDirectories": 100, "maxEntries": 10, "followDirectorySymlinks": False} | options
        assert await wire.error("fs/walk", {"path": target.uri(), "options": limits}) == (-32600, text)


async def copies_and_removals(target: Target) -> None:
    (target.folder / "a/b").mkdir(parents=True)
    (target.folder / "a/hello.txt").write_text("hi")
    (target.folder / "a/link").symlink_to("hello.txt")
    async with session(target.url) as wire:

        def pair(source: str, to: str, *, recursive: bool = False) -> Json:
            return {"sourcePath": target.uri(source), "destinationPath": target.uri(to), "recursive": recursive}

        assert await wire.call("fs/copy", pair("a/hello.txt", "copy.txt")) == {}
        assert (target.folder / "copy.txt").read_text() == "hi"
        text = "fs/copy requires recursive: true when sourcePath is a directory"
        assert await wire.error("fs/copy", pair("a", "acopy")) == (-32600, text)
        assert await wire.call("fs/copy", pair("a", "acopy", recursive=True)) == {}
        assert (target.folder / "acopy/link").is_symlink()
        text = "fs/copy cannot copy a directory to itself or one of its descendants"
        assert await wire.error("fs/copy", pair("a", "a/b/self", recursive=True)) == (-32600, text)
        text = "fs/copy only supports regular files, directories, and symlinks"
        assert await wire.error("fs/copy", pair("gate", "gate2")) == (-32600, text)
        assert await wire.error("fs/copy", pair("none", "x")) == MISSING
        copied: Json = {"path": target.uri("copy.txt")}
        assert await wire.call("fs/remove", copied) == {}
        assert await wire.call("fs/remove", copied) == {}
        assert await wire.error("fs/remove", copied | {"force": False}) == MISSING
        full = (-32603, "Directory not empty (os error 39)")
        assert await wire.error("fs/remove", {"path": target.uri("acopy"), "recursive": False}) == full
        assert await wire.call("fs/remove", {"path": target.uri("acopy")}) == {}
        deep = target.uri("deep" + "/d" * 1200)
        assert await wire.call("fs/createDirectory", {"path": deep}) == {}
        assert await wire.call("fs/copy", pair("deep", "deep2", recursive=True)) == {}
        for name in ("deep", "deep2"):
            assert await wire.call("fs/remove", {"path": target.uri(name)}) == {}
        assert await wire.call("fs/remove", {"path": target.uri("a/link")}) == {}
        assert sorted(path.name for path in target.folder.iterdir()) == ["a", "gate"]
        assert (target.folder / "a/hello.txt").exists()


async def handles(target: Target) -> None:
    (target.folder / "hello").write_text("hello world\n")
    async with session(target.url) as wire:
        hello = {"handleId": "h", "path": target.uri("hello")}
        assert await wire.call("fs/open", hello) == {"handleId": "h"}
        assert await wire.error("fs/open", hello) == (-32600, "file handle `h` already exists")
        text = "file handle ID must not exceed 32 bytes"
        assert await wire.error("fs/open", hello | {"handleId": "x" * 33}) == (-32600, text)
        text = f"path `{target.folder / 'gate'}` is not a file"
        assert await wire.error("fs/open", {"handleId": "g", "path": target.uri("gate")}) == (-32600, text)

        async def block(offset: int, size: int) -> tuple[object, object]:
            read = await wire.call("fs/readBlock", {"handleId": "h", "offset": offset, "len": size})
            return read["chunk"], read["eof"]

        assert await block(0, 5) == ("aGVsbG8=", False)
        assert await block(6, 100) == ("d29ybGQK", True)
        assert await block(100, 10) == ("", True)
        assert await block(0, 12) == ("aGVsbG8gd29ybGQK", False)
        text = "file read block length must be between 1 and 1048576"
        for size in [0, 1048577]:
            asked = {"handleId": "h", "offset": 0, "len": size}
            assert await wire.error("fs/readBlock", asked) == (-32600, text)
        assert await wire.call("fs/close", {"handleId": "h"}) == {}
        assert await wire.call("fs/close", {"handleId": "h"}) == {}
        gone = {"handleId": "h", "offset": 0, "len": 5}
        assert await wire.error("fs/readBlock", gone) == (-32004, "unknown file handle `h`")
        await _written_in_blocks(wire, target)


async def _written_in_blocks(wire: Wire, target: Target) -> None:
    def block(offset: int, chunk: str) -> Json:
        return {"handleId": "w", "offset": offset, "chunk": chunk}

    await wire.call("fs/open", {"handleId": "w", "path": target.uri("new"), "mode": "replace"})
    assert await wire.call("fs/writeBlock", block(0, "aGVsbG8=")) == {}
    assert await wire.call("fs/writeBlock", block(10, "dGFpbA==")) == {}
    text = "file write block length must be between 1 and 1048576"
    assert await wire.error("fs/writeBlock", block(0, "")) == (-32600, text)
    text = "file write range exceeds the signed 64-bit file offset limit"
    assert await wire.error("fs/writeBlock", block(2**63, "eA==")) == (-32600, text)
    read = {"handleId": "w", "offset": 0, "len": 20}
    assert await wire.error("fs/readBlock", read) == (-32603, "Bad file descriptor (os error 9)")
    await wire.call("fs/close", {"handleId": "w"})
    assert (target.folder / "new").read_bytes() == b"hello\0\0\0\0\0tail"


async def names(target: Target) -> None:
    async with session(target.url) as wire:
        for name, real in [("na%20me%C3%A9.txt", "na meé.txt"), ("non%FFutf8", "non\udcffutf8")]:
            assert await wire.call("fs/writeFile", {"path": target.uri() + "/" + name, "dataBase64": "eA=="}) == {}
            assert (target.folder / real).read_bytes() == b"x"
            answer = await wire.call("fs/canonicalize", {"path": target.uri() + "/" + name})
            assert answer == {"path": target.uri() + "/" + name}
        answer = await wire.call("fs/canonicalize", {"path": target.uri() + "/na meé.txt"})
        assert answer == {"path": target.uri() + "/na%20me%C3%A9.txt"}


def sandbox(target: Target, *entries: Json, network: str = "restricted") -> Json:
    """A managed sandbox with these entries, whose project is the folder `w`."""
    permissions: Json = {
        "type": "managed",
        "file_system": {"type": "restricted", "entries": list(entries)},
        "network": network,
    }
    return around(target, permissions)


def around(target: Target, permissions: Json) -> Json:
    """A sandbox with these permissions."""
    return {
        "permissions": permissions,
        "cwd": target.uri("w"),
        "workspaceRoots": [target.uri("w")],
        "windowsSandboxLevel": "disabled",
    }


def special(kind: str, access: str, **more: str) -> Json:
    return {"path": {"type": "special", "value": {"kind": kind, **more}}, "access": access}


def at(uri: str, access: str) -> Json:
    return {"path": {"type": "path", "path": uri}, "access": access}


async def confined_files(target: Target) -> None:
    inside = target.folder / "w/sb"
    inside.mkdir(parents=True)
    (inside / "in.txt").write_text("in")
    (target.folder / "out.txt").write_text("out")
    reads_all = sandbox(target, special("root", "read"))
    writes = sandbox(target, special("root", "read"), at(target.uri("w/sb"), "write"))
    only = sandbox(target, at(target.uri("w/sb"), "read"))
    async with session(target.url) as wire:
        file, outside = {"path": target.uri("w/sb/in.txt")}, {"path": target.uri("out.txt")}
        new = {"path": target.uri("w/sb/new.txt"), "dataBase64": "eA=="}
        assert await wire.call("fs/readFile", file | {"sandbox": reads_all}) == {"dataBase64": "aW4="}
        assert await wire.error("fs/writeFile", new | {"sandbox": reads_all}) == READ_ONLY
        assert await wire.call("fs/writeFile", new | {"sandbox": writes}) == {}
        assert await wire.error("fs/writeFile", outside | {"dataBase64": "", "sandbox": writes}) == READ_ONLY
        assert await wire.error("fs/remove", outside | {"sandbox": writes}) == READ_ONLY
        made = {"path": target.uri("w/made"), "sandbox": writes}
        assert await wire.error("fs/createDirectory", made) == READ_ONLY
        copy = {"sourcePath": file["path"], "destinationPath": target.uri("c"), "recursive": False, "sandbox": writes}
        assert await wire.error("fs/copy", copy) == READ_ONLY
        for method in ["fs/readFile", "fs/getMetadata", "fs/canonicalize"]:
            assert await wire.error(method, outside | {"sandbox": only}) == MISSING
        assert await wire.call("fs/readFile", file | {"sandbox": only}) == {"dataBase64": "aW4="}
        listed = (await wire.call("fs/readDirectory", {"path": target.uri("w"), "sandbox": only}))["entries"]
        assert listed == [{"fileName": "sb", "isDirectory": True, "isFile": False}]
        assert await wire.error("fs/open", outside | {"handleId": "o", "sandbox": only}) == MISSING
        assert await wire.call("fs/open", file | {"handleId": "s", "sandbox": only}) == {"handleId": "s"}
        block = await wire.call("fs/readBlock", {"handleId": "s", "offset": 0, "len": 10})
        assert block == {"chunk": "aW4=", "eof": True}
        hidden = sandbox(target, special("root", "read"), at(target.uri("w/sb"), "deny"))
        denied = (-32600, "Permission denied (os error 13)")
        assert await wire.error("fs/readFile", file | {"sandbox": hidden}) == denied
        assert (target.folder / "out.txt").read_text() == "out"
        unlimited: list[Json] = [{"type": "disabled"}, {"type": "external", "network": "restricted"}]
        for free in unlimited:
            answer = await wire.call("fs/readFile", outside | {"sandbox": around(target, free)})
            assert answer == {"dataBase64": "b3V0"}


async def confined_processes(target: Target) -> None:
    (target.folder / "w/sb").mkdir(parents=True)
    script = "echo hi > w/sb/x && echo in; echo y > out && echo out; grep -E 'NoNewPrivs|Seccomp:' /proc/self/status"
    confined = "NoNewPrivs:\t1\nSeccomp:\t2\n"
    free = "NoNewPrivs:\t0\nSeccomp:\t0\n"
    rules = [
        (sandbox(target, special("root", "read")), confined),
        (sandbox(target, special("root", "read"), at(target.uri("w/sb"), "write")), "in\n" + confined),
        (sandbox(target, special("root", "read"), special("project_roots", "write")), "in\n" + confined),
        (sandbox(target, special("root", "read"), network="enabled"), confined),
        (around(target, {"type": "disabled"}), "in\nout\n" + free),
        (around(target, {"type": "external", "network": "restricted"}), "in\nout\n" + confined),
    ]
    async with session(target.url) as wire:
        for number, (rule, expected) in enumerate(rules):
            params = target.shell(f"c{number}", f"({script}) 2>/dev/null", sandbox=rule)
            started = await wire.call("process/start", params)
            assert started["sandboxType"] == "linuxSeccomp"
            said, _ = await wire.output(f"c{number}")
            assert said == expected, rule
        params = target.shell("denied", "echo x > out", sandbox=rules[0][0])
        await wire.call("process/start", params)
        events = await wire.closed("denied")
        assert [event["sandboxDenied"] for event in events if event["method"] == "process/exited"] == [True]


SCENES = [
    small_files,
    links_and_metadata,
    folders,
    copies_and_removals,
    handles,
    names,
    confined_files,
    confined_processes,
]
