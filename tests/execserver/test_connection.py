import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.connection import QUEUE, Connection
from codex_mcp.execserver.files.requests import QUICK_BYTES
from codex_mcp.execserver.methods import METHODS, URGENT, WAITING
from codex_mcp.execserver.processes import processes
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.execserver.server import Server
from codex_mcp.wire.exec.protocol import EnvironmentInfo, Shell
from tests.support.exec.parts import ENV, RecordingTransport


class House:
    """A server, one connection to it, and what the client hears."""

    def __init__(self, concurrent: int = 1) -> None:
        self.server = Server(EnvironmentInfo(Shell("sh", "/bin/sh")), {}, Confinement([]), concurrent)
        self.client = RecordingTransport()
        self.connection: Connection = self.server.accept(self.client)

    def say(self, message: object) -> None:
        self.connection.frame_received(message if isinstance(message, bytes) else json.dumps(message).encode())

    def greet(self) -> None:
        self.say({"id": 0, "method": "initialize", "params": {"clientName": "test"}})
        self.say({"method": "initialized"})

    def ids(self) -> list[object]:
        return [message["id"] for message in self.client.messages if "method" not in message]


def start(process_id: str, script: str, **more: object) -> dict[str, object]:
    fields = {"processId": process_id, "argv": ["/bin/sh", "-c", script], "cwd": "file:///", "env": ENV, "tty": False}
    return fields | more


LARGE = {
    "path": "file:///usr",
    "options": {"maxDepth": 1, "maxDirectories": 50, "maxEntries": 9, "followDirectorySymlinks": False},
}


async def test_requests_are_answered_in_order_unless_told_otherwise() -> None:
    house = House()
    house.greet()
    house.say({"id": 1, "method": "fs/walk", "params": LARGE})
    house.say({"id": 2, "method": "environment/status"})
    house.say({"id": 3, "method": "process/terminate", "params": {"processId": "x"}})
    await house.client.answer(3)
    assert house.ids() == [0, 1, 2, 3]
    await house.server.aclose()


async def test_urgent_requests_overtake_if_told_so() -> None:
    house = House(concurrent=2)
    house.greet()
    for number in range(1, 4):
        house.say({"id": number, "method": "fs/walk", "params": LARGE})
    house.say({"id": 4, "method": "environment/status"})
    for number in range(1, 5):
        await house.client.answer(number)
    assert house.ids()[:2] == [0, 4]
    await house.server.aclose()


async def test_a_waiting_read_holds_nobody_up() -> None:
    house = House()
    house.greet()
    house.say({"id": 1, "method": "process/start", "params": start("p", "cat", pipeStdin=True)})
    house.say({"id": 2, "method": "process/read", "params": {"processId": "p", "waitMs": 10_000}})
    house.say({"id": 3, "method": "process/write", "params": {"processId": "p", "chunk": "eA==", "writeId": "1"}})
    await house.client.answer(2)
    assert house.ids() == [0, 1, 3, 2]
    await house.server.aclose()


async def test_a_client_that_asks_faster_than_it_is_answered_is_not_read() -> None:
    house = House()
    house.greet()
    house.say({"id": 1, "method": "fs/walk", "params": LARGE})
    for number in range(QUEUE):
        house.say({"id": 2 + number, "method": "environment/status"})
    assert house.client.is_paused
    await house.client.answer(1 + QUEUE)
    await house.client.until_true(lambda: not house.client.is_paused)
    await house.server.aclose()


async def test_a_client_that_does_not_read_gets_no_more_to_read() -> None:
    house = House()
    house.greet()
    house.say(
        {"id": 1, "method": "process/start", "params": start("p", "read x; head -c 100000 /dev/zero", pipeStdin=True)}
    )
    house.connection.pause_writing()
    assert house.client.is_paused
    house.say({"id": 2, "method": "process/write", "params": {"processId": "p", "chunk": "Cg==", "writeId": "1"}})
    count = len(house.client.messages)
    await asyncio.sleep(0)
    assert len(house.client.messages) == count
    house.connection.resume_writing()
    await house.client.until_true(lambda: not house.client.is_paused)
    await house.client.until("process/closed")
    await house.server.aclose()


async def test_a_client_that_does_not_read_has_its_requests_wait(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(QUICK_BYTES + 1))
    house = House()
    house.greet()
    for number in range(1, 4):
        house.say({"id": number, "method": "fs/readFile", "params": {"path": (tmp_path / "large").as_uri()}})
    house.connection.pause_writing()
    house.say({"id": 4, "method": "environment/status"})
    for _ in range(5):  # time enough for the first one to be read
        await asyncio.to_thread((tmp_path / "large").read_bytes)
    assert house.ids() == [0]
    house.connection.resume_writing()
    await house.client.answer(4)
    assert house.ids() == [0, 1, 2, 3, 4]
    await house.server.aclose()


async def test_the_bytes_of_a_large_answer_are_held_until_they_are_read(tmp_path: Path) -> None:
    size = QUICK_BYTES + 1
    (tmp_path / "large").write_bytes(bytes(size))
    read = {"id": 1, "method": "fs/readFile", "params": {"path": (tmp_path / "large").as_uri()}}
    for end in (Connection.resume_writing, Connection.connection_lost):
        house = House()
        house.greet()
        house.client.sent = house.connection.pause_writing
        house.say(read)
        await house.client.answer(1)
        assert f"{size} of" in repr(house.server.budget)
        end(house.connection)
        assert "<AnswerBudget 0 of" in repr(house.server.budget)
        await house.server.aclose()
    house = House()
    house.greet()
    house.say(read)
    await house.client.answer(1)
    assert "<AnswerBudget 0 of" in repr(house.server.budget), "it was taken at once"
    house.connection.pause_writing()
    house.say(read | {"id": 2})
    await house.server.aclose()
    assert "<AnswerBudget 0 of" in repr(house.server.budget)


async def test_an_unexpected_notification_is_answered_and_the_client_dropped() -> None:
    house = House()
    house.greet()
    house.say({"method": "process/output"})
    assert house.client.messages[-1]["id"] == -1
    assert house.client.is_dropped
    await house.server.aclose()


async def test_who_wants_a_session_that_is_attached_makes_its_holder_prove_that_it_lives() -> None:
    house = House()
    house.greet()
    result = (await house.client.answer(0))["result"]
    assert isinstance(result, dict)
    client = RecordingTransport()
    second = house.server.accept(client)
    again = {"clientName": "test", "resumeSessionId": result["sessionId"]}
    second.frame_received(json.dumps({"id": 5, "method": "initialize", "params": again}).encode())
    error = (await client.answer(5))["error"]
    assert isinstance(error, dict)
    assert error["code"] == -32010
    assert house.client.probes == 1
    await house.server.aclose()


async def test_a_lost_connection_leaves_its_processes_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "HELD", 0.01)  # this client does not read what it missed
    house = House()
    house.greet()
    house.say({"id": 1, "method": "process/start", "params": start("p", "cat", pipeStdin=True)})
    result = (await house.client.answer(0))["result"]
    assert isinstance(result, dict)
    house.connection.connection_lost()
    client = RecordingTransport()
    second = house.server.accept(client)
    again = {"clientName": "test", "resumeSessionId": result["sessionId"]}
    second.frame_received(json.dumps({"id": 5, "method": "initialize", "params": again}).encode())
    second.frame_received(b'{"method": "initialized"}')
    end = {"id": 6, "method": "process/terminate", "params": {"processId": "p"}}
    second.frame_received(json.dumps(end).encode())
    assert (await client.answer(6))["result"] == {"running": True}
    await client.until("process/closed")
    await house.server.aclose()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
methods = st.sampled_from(
    ["initialize", "environment/status", "process/read", "process/write", "process/terminate", "fs/open", "nope"]
)


@given(
    st.lists(
        st.binary(max_size=30)
        | json_values.map(lambda value: json.dumps(value).encode())
        | st.tuples(methods, json_values).map(
            lambda pair: json.dumps({"id": 1, "method": pair[0], "params": pair[1]}).encode()
        ),
        max_size=10,
    )
)
async def test_no_messages_break_a_connection(frames: list[bytes]) -> None:
    house = House()
    house.greet()
    for frame in frames:
        house.say(frame)
    house.client.messages.clear()
    house.say({"id": "alive", "method": "environment/status"})
    assert house.ids()[-1] == "alive"
    await house.server.aclose()


def test_every_method_of_the_protocol_that_we_announce_is_there() -> None:
    assert len([name for name in METHODS if name.startswith("fs/")]) == 14
    assert {"process/start", "process/resize", "process/closeStdin", "environment/info"} <= set(METHODS)


def test_the_lanes_are_made_of_methods_that_exist() -> None:
    assert set(METHODS) >= URGENT
    assert set(METHODS) >= WAITING


def test_methods_without_parameters_are_those_of_the_environment() -> None:
    assert sorted(name for name, method in METHODS.items() if method.decode is None) == [
        "environment/info",
        "environment/status",
    ]
