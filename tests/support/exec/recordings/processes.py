"""Scenes of processes, after the recordings of 0.166.0. Each runs against our server, and against Codex' own."""

from tests.support.exec.wire import Json, Target, Wire, session

TRUE = "/bin/true"


def methods(events: list[Json]) -> list[object]:
    return [event["method"] for event in events]


async def pipe_process(target: Target) -> None:
    async with session(target.url) as wire:
        started = await wire.call("process/start", target.shell("p1", "printf out; printf err >&2; exit 3"))
        assert started == {"processId": "p1", "sandboxType": "none"}
        events = await wire.closed("p1")
        streams = {str(event["stream"]): event["chunk"] for event in events if event["method"] == "process/output"}
        assert streams == {"stdout": "b3V0", "stderr": "ZXJy"}, events
        (exited,) = (event for event in events if event["method"] == "process/exited")
        assert (exited["exitCode"], exited["sandboxDenied"]) == (3, False)
        assert events[-1] == {"method": "process/closed", "processId": "p1", "seq": 4}


async def pipe_process_surroundings(target: Target) -> None:
    script = "env | sort; pwd; ls -l /proc/self/fd | tail -n +2 | awk '{print $9,$11}'; ps -o pgid= -p $$; echo $$"
    async with session(target.url) as wire:
        said, code = await wire.run(target.shell("p2", script))
        lines = said.splitlines()
        assert code == 0
        assert lines[:3] == [f"PATH={wire_path()}", f"PWD={target.folder}", str(target.folder)]
        assert [line.split()[0] for line in lines[3:-2]] == ["0", "1", "2", "3"]
        assert lines[3] == "0 /dev/null"
        assert lines[-1] == lines[-2].strip(), "it leads its own group"


def wire_path() -> str:
    return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


async def exit_codes(target: Target) -> None:
    async with session(target.url) as wire:
        assert await wire.run(target.shell("segv", "kill -SEGV $$")) == ("", 139)
        assert await wire.run(target.shell("pty-segv", "kill -SEGV $$", tty=True)) == ("", 1)
        assert await wire.run(target.process("arg0", ["/bin/bash", "-c", "echo $0"], arg0="custom")) == ("custom\n", 0)
        assert await wire.run(target.process("noenv", ["sleep", "0"], env={})) == ("", 0)
        assert await wire.run(target.process("cat", ["/bin/cat"])) == ("", 0)


async def grandchild_holds_the_output(target: Target) -> None:
    async with session(target.url) as wire:
        await wire.call("process/start", target.shell("p6", "(read x < gate; echo late) & echo main"))
        await wire.until(2)
        assert sorted(map(str, methods(wire.events("p6")))) == ["process/exited", "process/output"]
        with (target.folder / "gate").open("w") as gate:
            gate.write("go\n")
        assert await wire.output("p6") == ("main\nlate\n", 0)


async def terminal(target: Target) -> None:
    async with session(target.url) as wire:
        said, code = await wire.run(target.shell("t1", "tty; stty size; echo err >&2; exit 4", tty=True))
        assert said.startswith("/dev/pts/")
        assert said.endswith("24 80\r\nerr\r\n")
        assert code == 4
        assert {event.get("stream") for event in wire.events("t1")} == {"pty", None}
        await wire.call("process/start", target.process("t2", ["/bin/cat"], tty=True))
        assert await wire.write("t2", b"hello\n", "w1") == "accepted"
        await wire.said("t2", "hello\r\nhello\r\n")
        await wire.write("t2", b"\x04", "w2")
        assert (await wire.output("t2"))[1] == 0
        assert await wire.run(target.shell("t6", "echo $0", tty=True, arg0="/bin/echo")) == ("-c echo $0\r\n", 0)


async def terminal_signals(target: Target) -> None:
    trap = "trap 'echo got-int; exit 9' INT; echo ready; while :; do sleep 0.1; done"
    async with session(target.url) as wire:
        await wire.call("process/start", target.shell("t3", trap, tty=True))
        await wire.said("t3", "ready")
        assert await wire.call("process/signal", {"processId": "t3", "signal": "interrupt"}) == {}
        assert await wire.output("t3") == ("ready\r\ngot-int\r\n", 9)
        await wire.call("process/start", target.process("t4", ["/bin/cat"], tty=True))
        await wire.write("t4", b"\x03", "w1")
        assert await wire.output("t4") == ("^C", 1)
        await wire.call("process/start", target.process("t5", ["/bin/sleep", "30"], tty=True))
        assert await wire.call("process/terminate", {"processId": "t5"}) == {"running": True}
        assert await wire.output("t5") == ("", 1)


async def stdin_writes(target: Target) -> None:
    async with session(target.url) as wire:
        await wire.call("process/start", target.process("s1", ["/bin/cat"], pipeStdin=True))
        for write_id, data in [("1", b"one\n"), ("1", b"one\n"), ("2", b"two\n"), ("3", b"")]:
            assert await wire.write("s1", data, write_id) == "accepted"
        await wire.said("s1", "one\ntwo\n")
        await _bad_writes(wire)
        await wire.call("process/start", target.process("s2", ["/bin/sleep", "30"]))
        assert await wire.write("s2", b"x", "1") == "stdinClosed"
        assert await wire.write("nope", b"x", "1") == "unknownProcess"
        await wire.run(target.process("s3", [TRUE], pipeStdin=True))
        assert await wire.write("s3", b"x", "1") == "accepted"
        assert await wire.call("process/terminate", {"processId": "s1"}) == {"running": True}
        assert await wire.output("s1") == ("one\ntwo\n", 137)
        params = {"processId": "s1", "chunk": "eA==", "writeId": "99"}
        assert await wire.error("process/write", params) == (-32603, "failed to write to process stdin")


async def _bad_writes(wire: Wire) -> None:
    for params, text in [
        ({"chunk": "eA==", "writeId": ""}, "writeId must not be empty"),
        ({"chunk": "aGVsbG8", "writeId": "5"}, "Invalid padding"),
        ({"chunk": "aGVs\nbG8=", "writeId": "6"}, "Invalid symbol 10, offset 4."),
        ({"chunk": "__-_", "writeId": "7"}, "Invalid symbol 95, offset 0."),
        ({"chunk": "aGVsbG9=", "writeId": "8"}, "Invalid last symbol 57, offset 6."),
    ]:
        assert await wire.error("process/write", {"processId": "s1"} | params) == (-32602, text)


async def reads(target: Target) -> None:
    async with session(target.url) as wire:
        await wire.call("process/start", target.process("r", ["/bin/cat"], tty=False, pipeStdin=True))
        for number in range(1, 6):
            await wire.write("r", f"chunk{number}".encode(), str(number))
            await wire.said("r", f"chunk{number}")
        await wire.call("process/terminate", {"processId": "r"})
        await wire.closed("r")
        cases: list[tuple[Json, list[int], int]] = [
            ({}, [1, 2, 3, 4, 5], 8),
            ({"afterSeq": 1, "maxBytes": None, "waitMs": None}, [2, 3, 4, 5], 8),
            ({"maxBytes": 0}, [1], 2),
            ({"maxBytes": 7}, [1], 2),
            ({"maxBytes": 12}, [1, 2], 3),
            ({"maxBytes": 1000}, [1, 2, 3, 4, 5], 6),
            ({"afterSeq": 5, "maxBytes": 10}, [], 8),
            ({"afterSeq": 99, "waitMs": 500}, [], 8),
        ]
        for more, seqs, next_seq in cases:
            answer = await wire.call("process/read", {"processId": "r"} | more)
            chunks = answer["chunks"]
            assert isinstance(chunks, list)
            assert ([chunk["seq"] for chunk in chunks], answer["nextSeq"]) == (seqs, next_seq), more
            assert (answer["exited"], answer["exitCode"], answer["closed"]) == (True, 137, True)
        assert await wire.error("process/read", {"processId": "x"}) == (-32600, "unknown process id x")


async def next_words(wire: Wire, process_id: str, answer: Json) -> list[tuple[str, str]]:
    """The chunks of this answer or of the next that has some, without their numbers.

    Codex' own server may tell the end of a process, and number it, before its last words.
    """
    while not answer["chunks"]:
        params = {"processId": process_id, "afterSeq": int(str(answer["nextSeq"])) - 1, "waitMs": 20_000}
        answer = await wire.call("process/read", params)
    chunks = answer["chunks"]
    assert isinstance(chunks, list)
    return [(chunk["stream"], chunk["chunk"]) for chunk in chunks]


async def a_read_waits(target: Target) -> None:
    async with session(target.url) as wire:
        await wire.call("process/start", target.shell("w", "read line < gate; echo $line"))
        empty = await wire.call("process/read", {"processId": "w", "waitMs": 10})
        assert (empty["chunks"], empty["nextSeq"], empty["exited"]) == ([], 1, False)
        waiting = wire.ask("process/read", {"processId": "w", "waitMs": 20_000})
        with (target.folder / "gate").open("w") as gate:
            gate.write("news\n")
        answer = (await wire.answer(waiting))["result"]
        assert isinstance(answer, dict)
        assert await next_words(wire, "w", answer) == [("stdout", "bmV3cwo=")]
        await wire.closed("w")


async def terminate_and_signal(target: Target) -> None:
    async with session(target.url) as wire:
        script = "trap '' TERM INT; echo ready; sleep 30 & sleep 30; wait"
        await wire.call("process/start", target.shell("k1", script))
        await wire.said("k1", "ready")
        assert await wire.call("process/signal", {"processId": "k1", "signal": "interrupt"}) == {}
        assert await wire.call("process/terminate", {"processId": "k1"}) == {"running": True}
        assert await wire.output("k1") == ("ready\n", 137)
        for process_id in ["k1", "nope"]:
            assert await wire.call("process/terminate", {"processId": process_id}) == {"running": False}
            assert await wire.call("process/signal", {"processId": process_id, "signal": "interrupt"}) == {}
        code, _ = await wire.error("process/signal", {"processId": "k1", "signal": "kill"})
        assert code == -32602
        # Not a shell: it may be about to start its child, and then neither of the two minds the signal.
        await wire.call("process/start", target.process("k2", ["/bin/cat"], pipeStdin=True))
        await wire.write("k2", b"ready\n", "1")
        await wire.said("k2", "ready")
        await wire.call("process/signal", {"processId": "k2", "signal": "interrupt"})
        assert await wire.output("k2") == ("ready\n", 130)


async def start_errors(target: Target) -> None:
    async with session(target.url) as wire:
        await wire.run(target.process("d1", [TRUE]))
        for params, code, text in [
            (target.process("d1", [TRUE]), -32600, "process d1 already exists"),
            (target.process("d2", []), -32602, "argv must not be empty"),
            (target.process("d2", [""]), -32603, "missing program for pipe spawn"),
            (target.process("d2", ["/nonexistent/prog"]), -32603, "No such file or directory (os error 2)"),
            (target.process("d2", ["/nonexistent"], tty=True), -32603, "No such file or directory (os error 2)"),
            (target.process("d2", ["/etc/passwd"]), -32603, "Permission denied (os error 13)"),
            (target.process("d2", [TRUE], cwd="file:///no/such"), -32603, "No such file or directory (os error 2)"),
            (target.process("d2", [TRUE], cwd="http://x/y"), -32602, "unsupported path URI scheme `http`"),
            (target.process("d2", [TRUE], cwd="file:///x?q"), -32602, "query parameters are not allowed in path URIs"),
            (target.process("d2", [TRUE], cwd="file:///x#f"), -32602, "fragments are not allowed in path URIs"),
            (
                target.process("d2", [TRUE], cwd="file://host/share"),
                -32602,
                "cwd URI `file://host/share` is not valid on this exec-server host: "
                "'file://host/share' is invalid on 'linux'",
            ),
            (target.process("d2", [TRUE], env={"A": "x\0y"}), -32603, "data provided contains a nul byte"),
        ]:
            assert await wire.error("process/start", params) == (code, text), params
        for bad in [{"processId": 5}, "str", None]:
            assert (await wire.error("process/start", bad))[0] == -32602
        assert await wire.run(target.process("", [TRUE], cwd="file:///no/such", tty=True)) == ("", 0)
        assert await wire.run(target.shell("utf8", "echo $A", env={"A": "été ☃"})) == ("été ☃\n", 0)
        assert await wire.run(target.shell("odd", "echo $A", env={"A=B": "c"})) == ("B=c\n", 0)


async def environment_policy(target: Target) -> None:
    def policy(**more: object) -> Json:
        rules: Json = {"inherit": "none", "ignoreDefaultExcludes": True, "exclude": [], "set": {}, "includeOnly": []}
        return rules | more

    given = {"FROM_ENV": "x", "CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN": "no"}
    async with session(target.url) as wire:
        for number, (rules, expected) in enumerate(
            [
                (policy(), "FROM_ENV=x\n"),
                (policy(set={"S_KEY": "1", "T": "2"}), "FROM_ENV=x\nS_KEY=1\nT=2\n"),
                (policy(set={"S_KEY": "1"}, ignoreDefaultExcludes=False), "FROM_ENV=x\nS_KEY=1\n"),
                (policy(inherit="core", includeOnly=["h?me"]), f"FROM_ENV=x\nHOME={target.folder.parent / 'home'}\n"),
            ]
        ):
            params = target.process(f"e{number}", ["/usr/bin/env"], env=given, envPolicy=rules)
            said, _ = await wire.run(params)
            assert "".join(sorted(said.splitlines(keepends=True))) == expected


SCENES = [
    pipe_process,
    pipe_process_surroundings,
    exit_codes,
    grandchild_holds_the_output,
    terminal,
    terminal_signals,
    stdin_writes,
    reads,
    a_read_waits,
    terminate_and_signal,
    start_errors,
    environment_policy,
]
