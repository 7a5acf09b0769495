"""However the server is made to end: calls are answered, it goes in time, and no process of ours stays."""

import asyncio
import contextlib
import os
import random
import shlex
import signal
import socket
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.processes import Process, all_ended, children_of, ended, lines_in, processes_at, the_core, the_server
from tests.support.servers.mcp_server import Json, McpServer, Setup, scripted_server

SCRIPT = Path(__file__).parents[1] / "support/scripts/end_of_life.toml"

FREE = {"sandbox": "danger-full-access", "approval-policy": "never"}
"""Commands without a sandbox, which would kill its own processes at its end: here only we can."""


@dataclass(slots=True)
class WrappedSetup(Setup):
    """A server that a shell script starts."""

    wrapper: str = ""

    def argv(self) -> list[str]:
        return ["sh", "-c", self.wrapper]


def server_in(folder: Path, *flags: str) -> AbstractAsyncContextManager[tuple[McpServer, ScriptedModel]]:
    return scripted_server(folder, *flags, script=SCRIPT)


def a_long_time() -> str:
    """Seconds that no other process sleeps for."""
    return f"98765.{random.randrange(10**9)}"


def sleepers(server: McpServer, seconds: str) -> list[int]:
    return [process.pid for process in processes_at(server.setup.home) if any(seconds in word for word in process.argv)]


async def assert_gone(server: McpServer, code: int = 0) -> None:
    assert await server.exit_code() == code, server.stderr
    assert processes_at(server.setup.home) == []


async def start_command(server: McpServer, seconds: str) -> int | str:
    """A call whose command runs, with another one that it left in the background."""
    os.mkfifo(server.setup.work / "started")
    call = server.call("codex", {"prompt": f'[[scene: command seconds="{seconds}"]]', **FREE})
    await lines_in(server.setup.work / "started", 2)
    assert len(sleepers(server, seconds)) >= 2
    return call


# -- nothing runs -----------------------------------------------------------------------------------------------------


async def test_an_idle_server_ends_with_its_stdin(tmp_path: Path) -> None:
    async with server_in(tmp_path) as (server, _model):
        await server.initialize()
        server.close_stdin()
        await assert_gone(server)


async def test_so_does_one_that_was_never_spoken_to(tmp_path: Path) -> None:
    async with server_in(tmp_path) as (server, _model):
        server.close_stdin()
        await assert_gone(server)
        assert server.messages == []


async def test_what_a_finished_turn_left_running_ends_with_the_server(tmp_path: Path) -> None:
    seconds = a_long_time()
    async with server_in(tmp_path) as (server, _model):
        await server.initialize()
        await server.run("codex", {"prompt": f'[[scene: left-behind seconds="{seconds}"]]', **FREE})
        assert len(sleepers(server, seconds)) == 1
        server.close_stdin()
        await assert_gone(server)


# -- a turn runs ------------------------------------------------------------------------------------------------------


async def test_a_finite_turn_may_finish_after_the_end_of_stdin(tmp_path: Path) -> None:
    async with server_in(tmp_path) as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": "[[scene: gate]]"})
        await model.wait_for_gate("gate")
        server.close_stdin()
        model.release("gate")
        result = await server.result(call)
        assert result["structuredContent"]["content"] == "Finished in time."
        await assert_gone(server)


async def test_a_call_right_before_the_end_of_stdin_is_answered(tmp_path: Path) -> None:
    async with server_in(tmp_path) as (server, model):
        model.release("gate")
        call = server.call("codex", {"prompt": "[[scene: gate]]"})
        server.close_stdin()
        result = await server.result(call)
        assert result["structuredContent"]["content"] == "Finished in time."
        await assert_gone(server)


async def test_an_endless_turn_is_interrupted_after_the_grace_and_its_call_answered(tmp_path: Path) -> None:
    async with server_in(tmp_path, "--shutdown-grace", "1") as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": "[[scene: endless]]"})
        await server.event("agent_message_content_delta", call)
        server.close_stdin()
        result = await server.result(call)
        assert result["isError"] is True
        assert result["structuredContent"]["status"] == "interrupted"
        await assert_gone(server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_lets_a_finite_turn_finish(tmp_path: Path, number: signal.Signals) -> None:
    async with server_in(tmp_path) as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": "[[scene: gate]]"})
        await model.wait_for_gate("gate")
        server.process.send_signal(number)
        refused = await refused_request(server)
        model.release("gate")
        assert (await server.result(call))["structuredContent"]["content"] == "Finished in time."
        assert "shutting down" in refused["error"]["message"]
        await assert_gone(server)


async def refused_request(server: McpServer) -> Json:
    """Wait until the server accepts no more: the signal has arrived."""
    while True:
        answer = await server.answer(server.request("ping"))
        if "error" in answer:
            return answer


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_interrupts_an_endless_turn_after_the_grace(tmp_path: Path, number: signal.Signals) -> None:
    seconds = a_long_time()
    async with server_in(tmp_path, "--shutdown-grace", "1") as (server, _model):
        await server.initialize()
        call = await start_command(server, seconds)
        server.process.send_signal(number)
        assert (await server.result(call))["structuredContent"]["status"] == "interrupted"
        await assert_gone(server)


async def test_a_second_signal_cuts_the_grace_short(tmp_path: Path) -> None:
    seconds = a_long_time()
    async with server_in(tmp_path, "--shutdown-grace", "3600") as (server, _model):
        await server.initialize()
        call = await start_command(server, seconds)
        server.process.send_signal(signal.SIGTERM)
        await refused_request(server)
        server.process.send_signal(signal.SIGTERM)
        assert (await server.result(call))["structuredContent"]["status"] == "interrupted"
        await assert_gone(server)


MANY_SIGNALS = 200
"""More than the steps of an orderly end, and few enough that the server gets to run between them."""


async def test_however_many_signals_come_nothing_is_left(tmp_path: Path) -> None:
    seconds = a_long_time()
    async with server_in(tmp_path) as (server, _model):
        await server.initialize()
        await server.run("codex", {"prompt": f'[[scene: left-behind seconds="{seconds}"]]', **FREE})
        for _ in range(MANY_SIGNALS):
            if server.process.returncode is None:
                server.process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0)
        await server.exit_code()
        assert processes_at(server.setup.home) == []


async def test_a_turn_in_the_background_gets_the_same_grace(tmp_path: Path) -> None:
    async with server_in(tmp_path, "--shutdown-grace", "1") as (server, _model):
        await server.initialize()
        result = await server.run("codex", {"prompt": "[[scene: endless]]", "background": True})
        assert result["structuredContent"]["status"] == "running"
        server.close_stdin()
        await assert_gone(server)


# -- somebody is asked ------------------------------------------------------------------------------------------------


async def test_a_question_that_nobody_can_answer_any_longer_is_a_no_and_the_model_is_told_why(tmp_path: Path) -> None:
    async with server_in(tmp_path) as (server, model):
        await server.initialize()
        arguments = {"prompt": "[[scene: approval]]", "sandbox": "read-only", "approval-policy": "on-request"}
        call = server.call("codex", arguments)
        await server.question()
        server.close_stdin()
        result = await server.result(call)
        assert result["structuredContent"]["content"].startswith("Refused:")
        assert "the MCP client is gone" in model.requests[-1].body.decode()
        assert not (server.setup.work / "escalated").exists()
        await assert_gone(server)


# -- nobody listens ---------------------------------------------------------------------------------------------------


def stop_listening(server: McpServer) -> None:
    """Read nothing more of its stdout, and fill the pipe, so that it cannot write any longer."""
    stdout_of(server).pause_reading()
    pipe = os.open(f"/proc/{server.process.pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b"\n")
    os.close(pipe)


async def ended_in_time(process: Process) -> None:
    """Not by waiting for the child: that would wait for its pipes too."""
    async with asyncio.timeout(PATIENCE):
        await ended(process)


def stdout_of(server: McpServer) -> asyncio.ReadTransport:
    transport = server.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
    assert isinstance(transport, asyncio.ReadTransport)
    return transport


async def test_a_client_that_does_not_read_cannot_keep_the_server(tmp_path: Path) -> None:
    graces = ("--shutdown-grace", "1", "--interrupt-grace", "1")
    async with server_in(tmp_path, *graces, "--outbox-bytes", "65536") as (server, model):
        await server.initialize()
        running = the_server(server.setup.home)
        stop_listening(server)
        server.call("codex", {"prompt": "[[scene: flood]]"})
        await model.wait_for_scene("flood")
        server.close_stdin()
        await ended_in_time(running)
        assert processes_at(server.setup.home) == []
        stdout_of(server).close()
        assert await server.process.wait() == 0


async def test_a_client_that_is_gone_does_not_keep_it_either(tmp_path: Path) -> None:
    async with server_in(tmp_path, "--shutdown-grace", "1") as (server, _model):
        await server.initialize()
        running = the_server(server.setup.home)
        call = server.call("codex", {"prompt": "[[scene: endless]]"})
        await server.event("agent_message_content_delta", call)
        stdout_of(server).close()
        server.close_stdin()
        await ended_in_time(running)
        assert processes_at(server.setup.home) == []
        assert await server.process.wait() == 0


async def test_a_client_that_stops_reading_for_good_ends_it_though_stdin_stays_open(tmp_path: Path) -> None:
    seconds = a_long_time()
    async with server_in(tmp_path, "--shutdown-grace", "3600") as (server, _model):
        await server.initialize()
        running = the_server(server.setup.home)
        await start_command(server, seconds)
        stdout_of(server).close()
        await ended_in_time(running)
        assert processes_at(server.setup.home) == []
        assert await server.process.wait() == 0
        assert "stdout is closed" in server.log


@pytest.mark.parametrize("is_quiet", [True, False])
async def test_so_does_one_whose_stdout_is_a_socket(tmp_path: Path, is_quiet: object) -> None:
    """As Node makes them for its children; a quiet server has nothing to write that could fail."""
    events = ("--events", "none") if is_quiet else ()
    async with ScriptedModel(load_script(SCRIPT)) as model:
        setup = Setup(tmp_path, list(model.codex_overrides()), ("--shutdown-grace", "3600", *events))
        setup.make()
        ours, theirs = socket.socketpair()
        process = await asyncio.create_subprocess_exec(
            *setup.argv(), stdin=asyncio.subprocess.PIPE, stdout=theirs.fileno(), cwd=setup.work, env=setup.env()
        )
        theirs.close()
        assert process.stdin is not None
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        prompt = {"name": "codex", "arguments": {"prompt": "[[scene: gate]]"}}
        process.stdin.write(msgspec.json.encode({**call, "params": prompt}) + b"\n")
        await model.wait_for_gate("gate")
        ours.close()
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 0
        process.stdin.close()
        assert processes_at(setup.home) == []


# -- killed -----------------------------------------------------------------------------------------------------------


async def test_a_killed_server_takes_its_core_and_the_running_command_with_it(tmp_path: Path) -> None:
    seconds = a_long_time()
    async with server_in(tmp_path) as (server, _model):
        await server.initialize()
        os.mkfifo(server.setup.work / "started")
        server.call("codex", {"prompt": f'[[scene: one-command seconds="{seconds}"]]', **FREE})
        await lines_in(server.setup.work / "started", 1)
        os.kill(server.process.pid, signal.SIGKILL)
        assert await server.exit_code() == -signal.SIGKILL
        await all_ended(server.setup.home)


async def test_the_core_of_a_killed_server_is_killed_by_the_kernel_before_it_can_do_anything(tmp_path: Path) -> None:
    async with server_in(tmp_path) as (server, model):
        await server.initialize()
        server.call("codex", {"prompt": "wait"})
        await model.wait_for_gate("gate")
        core, helpers = the_core(server.setup.home), children_of(server.process.pid)
        for helper in helpers:
            os.kill(helper, signal.SIGSTOP)  # so neither the core nor the guard can end anything
        server.signal(signal.SIGKILL)
        try:
            await ended(core)
        finally:
            for helper in helpers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(helper, signal.SIGCONT)


@pytest.mark.parametrize("way", ["setsid {}", "setsid sh -c 'setsid {} & exit'"])
async def test_a_killed_server_takes_daemons_with_it(tmp_path: Path, way: str) -> None:
    seconds = a_long_time()
    async with server_in(tmp_path) as (server, _model):
        await server.initialize()
        daemon = way.format(f"sleep {seconds}").replace('"', "'")
        await server.run("codex", {"prompt": f'[[scene: daemon cmd="{daemon}"]]', **FREE})
        assert sleepers(server, seconds)
        os.kill(server.process.pid, signal.SIGKILL)
        assert await server.exit_code() == -signal.SIGKILL
        await all_ended(server.setup.home)


# -- only what descends from the core ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", ["daemon-and-wait", "daemon-and-gate"])
async def test_a_cancel_ends_daemons_of_its_turn_and_spares_those_of_others(tmp_path: Path, scene: str) -> None:
    """Whether the command that has detached the daemon still runs or not."""
    earlier, own = a_long_time(), a_long_time()
    async with server_in(tmp_path) as (server, model):
        await server.initialize()
        first = await server.run("codex", {"prompt": f'[[scene: daemon cmd="setsid sleep {earlier}"]]', **FREE})
        thread = first["structuredContent"]["threadId"]
        os.mkfifo(server.setup.work / "started")
        prompt = f'[[scene: {scene} cmd="setsid sleep {own}" ]]'
        call = server.call("codex-reply", {"threadId": thread, "prompt": prompt})
        if scene == "daemon-and-gate":
            await model.wait_for_gate("gate")
        else:
            await lines_in(server.setup.work / "started", 1)
        await server.event("exec_command_begin", call)
        daemons = [process for process in processes_at(server.setup.home) if f"sleep {own}" in " ".join(process.argv)]
        assert daemons
        server.cancel(call)
        async with asyncio.timeout(PATIENCE):
            for daemon in daemons:
                await ended(daemon)
        assert len(sleepers(server, earlier)) == 1


async def test_a_helper_of_the_script_that_started_the_server_is_spared(tmp_path: Path) -> None:
    """`helper & exec codex-mcp`: the helper becomes a child of the server, and is not Codex's."""
    seconds, left = a_long_time(), a_long_time()
    async with ScriptedModel(load_script(SCRIPT)) as model:
        setup = Setup(tmp_path, list(model.codex_overrides()))
        script = f"sleep {seconds} >nothing 2>&1 & exec {shlex.join(setup.argv())}"
        async with McpServer(WrappedSetup(tmp_path, setup.overrides, wrapper=script)) as server:
            await server.initialize()
            await server.run("codex", {"prompt": f'[[scene: daemon cmd="setsid sleep {left}"]]', **FREE})
            await server.kill_core()
            again = await server.run("codex", {"prompt": "[[scene: short]]"})
            assert again["structuredContent"]["content"] == "Short."
            assert not sleepers(server, left)
            (helper,) = sleepers(server, seconds)
            server.close_stdin()
            assert await server.exit_code() == 0
            assert sleepers(server, seconds) == [helper]
            os.kill(helper, signal.SIGKILL)
            await all_ended(setup.home)
