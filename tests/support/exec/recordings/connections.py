"""Scenes of connections and sessions, after the recordings of 0.166.0."""

import asyncio
import contextlib
import json

from tests.support.exec.recordings.processes import next_words
from tests.support.exec.wire import Json, Target, Wire, connected, session
from tests.support.http.client import connect

MIB = 1024 * 1024


async def handshake(target: Target) -> None:
    async with connected(target.url) as wire:
        text = "client must call initialize before using exec methods"
        assert await wire.error("process/read", {"processId": "x"}) == (-32600, text)
        assert (await wire.error("process/read", {}))[0] == -32602
        answer = await wire.call("initialize", {"clientName": "test"})
        info = answer["environmentInfo"]
        assert isinstance(info, dict)
        assert info["shell"]["path"].endswith(info["shell"]["name"])
        assert info["platformOs"] == "linux"
        text = "client must send initialized before using environment status methods"
        assert await wire.error("environment/status") == (-32600, text)
        text = "client must send initialized before using filesystem methods"
        assert await wire.error("fs/getMetadata", {"path": target.uri()}) == (-32600, text)
        wire.send({"method": "initialized", "params": {}})
        assert await wire.call("environment/status") == {"status": "ready"}
        text = "initialize may only be sent once per connection"
        assert await wire.error("initialize", {"clientName": "again"}) == (-32600, text)
        wire.send({"method": "initialized", "params": None})
        assert await wire.call("environment/info") == info
        assert (await wire.error("environment/info", [1]))[0] == -32602
        text = "exec-server stub does not implement `no/such/method` yet"
        assert await wire.error("no/such/method") == (-32601, text)


async def envelopes(target: Target) -> None:
    status: Json = {"method": "environment/status"}
    unreadable: list[object] = [
        b"{not json",
        b"",
        [],
        [{"id": 5, **status}],
        "str",
        {},
        {"id": 7},
        {"id": None, **status},
        {"id": 1.5, **status},
        {"id": 99999999999999999999, **status},
        b'{"id": 10, "id": 11, "method": "environment/status"}',
        {"id": 11, "method": 5},
    ]
    async with session(target.url) as wire:
        for count, message in enumerate(unreadable, 1):
            wire.send(message)
            error = (await wire.until(count))[-1]["error"]
            assert isinstance(error, dict)
            assert error["code"] == -32600
            assert error["message"].startswith("failed to parse websocket JSON-RPC message from exec-server websocket")
        readable: list[Json] = [
            {"jsonrpc": "2.0", "id": 1008, "params": None},
            {"id": "str-id"},
            {"id": -5},
            {"id": 1012, "extra": True},
            {"id": 1013, "trace": {"traceparent": "bad"}},
        ]
        for more in readable:
            wire.send(status | more)
            assert (await wire.answer(more["id"]))["result"] == {"status": "ready"}


async def a_client_that_talks_nonsense_is_dropped(target: Target) -> None:
    for message in [{"method": "process/output", "params": {"x": 1}}, {"id": 99, "result": {}}]:
        async with session(target.url) as wire:
            wire.send(message)
            await wire.ended()
    async with connected(target.url) as early:
        early.send({"method": "initialized"})
        await early.ended()


async def resume(target: Target) -> None:
    async with session(target.url) as first:
        await first.call("process/start", target.shell("w", "echo one; read x < gate; echo two; exit 5"))
        await first.said("w", "one")
        async with connected(target.url) as second:
            held: Json = {"clientName": "test", "resumeSessionId": first.session_id}
            text = f"session {first.session_id} is already attached to another connection"
            assert await second.error("initialize", held) == (-32010, text)
            text = "unknown session id bogus"
            assert await second.error("initialize", held | {"resumeSessionId": "bogus"}) == (-32600, text)
            await first.channel.aclose()
            await _resumed(second, held)
            with (target.folder / "gate").open("w") as gate:
                gate.write("go\n")
            read = await second.call("process/read", {"processId": "w", "afterSeq": 1, "waitMs": 20_000})
            assert await next_words(second, "w", read) == [("stdout", "dHdvCg==")]
            while not read["closed"]:
                after = int(str(read["nextSeq"])) - 1
                read = await second.call("process/read", {"processId": "w", "afterSeq": after, "waitMs": 20_000})
            assert (read["exitCode"], read["nextSeq"]) == (5, 5)
            again = target.process("w", ["/bin/true"])
            assert await second.error("process/start", again) == (-32600, "process w already exists")


async def _resumed(wire: Wire, params: Json) -> None:
    """The server may take a moment to notice that the first connection is gone."""
    while True:
        answer = await wire.answer(wire.ask("initialize", params))
        if "result" in answer:
            break
        error = answer["error"]
        assert isinstance(error, dict)
        assert error["code"] == -32010
    wire.send({"method": "initialized"})


async def large_messages(target: Target) -> None:
    path = target.uri("large")
    async with session(target.url) as wire:
        fits = 16 * MIB - len(json.dumps({"id": 2, "method": "fs/writeFile", "params": {"path": path, "x": ""}}))
        wire.send_in_one_frame({"id": 2, "method": "environment/status", "pad": "x" * (fits - 100)})
        assert (await wire.answer(2))["result"] == {"status": "ready"}
        wire.send({"id": 4, "method": "environment/status", "pad": "x" * (20 * MIB)})
        assert (await wire.answer(4))["result"] == {"status": "ready"}
        with contextlib.suppress(ConnectionError):
            wire.send_in_one_frame({"id": 3, "method": "environment/status", "pad": "x" * (16 * MIB)})
            await wire.ended()
    async with session(target.url) as wire:
        assert await wire.call("environment/status") == {"status": "ready"}


async def values_are_counted(target: Target) -> None:
    async with session(target.url) as wire:
        wire.send({"id": 1000, "method": "environment/status", "x": [0] * (262_144 - 4)})
        assert (await wire.answer(1000))["result"] == {"status": "ready"}
        wire.send({"id": 1001, "method": "environment/status", "x": [0] * (262_144 - 3)})
        assert (await wire.until(1))[0]["id"] == -1


async def http(target: Target) -> None:
    port = int(target.url.rpartition(":")[2])

    async def status(path: str, method: str = "GET", version: str = "1.1", **headers: str) -> int:
        async with connect(port) as line:
            fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
            line.send_raw(f"{method} {path} HTTP/{version}\r\nHost: x\r\n{fields}\r\n".encode())
            return (await line.read_head())[0]

    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert await status("/readyz") == 200
    assert await status("/readyz", version="1.0") == 200
    assert await status("/readyz", "HEAD") == 200
    assert await status("/readyz", "POST") == 405
    assert await status("/readyz", "POST", Origin="null") == 403
    assert await status("/", "HEAD") == 405
    assert await status("/", "POST") == 405
    assert await status("/other", "POST") == 404
    assert await status("/healthz") == 404
    assert await status("/") == 400
    assert await status("/readyz", Origin="null") == 403
    assert await status("/", **upgrade) == 101
    assert await status("/?a=1", **upgrade) == 101
    assert await status("/other", **upgrade) == 404
    assert await status("/", Origin="http://evil", **upgrade) == 403
    assert await status("/", **(upgrade | {"Sec_WebSocket_Version": "12"})) == 400


async def many_at_once(target: Target) -> None:
    async def one(number: int) -> tuple[str, object]:
        async with session(target.url) as wire:
            return await wire.run(target.shell("p", f"echo {number}; exit {number}"))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(20)]
    assert [task.result() for task in tasks] == [(f"{number}\n", number) for number in range(20)]


SCENES = [
    handshake,
    envelopes,
    a_client_that_talks_nonsense_is_dropped,
    resume,
    large_messages,
    values_are_counted,
    http,
    many_at_once,
]
