"""The client as a whole: sessions, starts in doubt, and what is left when it goes."""

import asyncio
import os
from pathlib import Path

import pytest
from msgspec import Raw

from codex_mcp.base.errors import Refused
from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import (
    EventGap,
    ExecServerError,
    OutcomeUnknown,
    OutputUnread,
    PathNotFound,
    ProcessLost,
    RequestRefused,
    SessionLost,
)
from codex_mcp.execclient.options import (
    DEFAULT_OPTIONS,
    DEFAULT_START,
    ExecServerClientConnectOptions,
    RemoteExecServerConnectArgs,
    StartOptions,
)
from codex_mcp.execclient.recovery import RECOVERY_SECONDS
from codex_mcp.wire.exec.protocol import NOT_FOUND, EnvironmentStatus, EnvPolicy, Inherit
from codex_mcp.wire.jsonrpc import Notification
from tests.support.exec.exec_server import Setting, connected
from tests.support.patience import PATIENCE
from tests.support.processes import Process as SeenProcess
from tests.support.processes import ended

TELLS_ITS_PID = ["sh", "-c", "echo $$ > pid; exec sleep 60"]


async def pid_told(setting: Setting) -> SeenProcess:
    """Wait for the process to run, and learn which it is."""
    return SeenProcess(int(await asyncio.to_thread((setting.folder / "pid").read_text)), ())


async def has_ended(process: SeenProcess) -> None:
    async with asyncio.timeout(PATIENCE):
        await ended(process)


async def test_the_server_describes_itself(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        assert setting.client.environment.platform_os == "linux"
        assert await setting.client.environment_info() == setting.client.environment
        assert setting.client.session_id in repr(setting.client)


async def test_arguments_hold_the_address_and_the_options(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        session = await setting.client.detach()
        args = RemoteExecServerConnectArgs(setting.proxy.url, client_name="mine", resume_session_id=session)
        async with ExecServerClient(args) as client:
            assert client.session_id == session
        assert (args.options.client_name, args.options.connect_timeout) == ("mine", DEFAULT_OPTIONS.connect_timeout)


async def test_a_session_can_be_resumed_before_the_server_has_noticed_that_its_client_left(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        session, tasks = setting.client.session_id, TaskSet()
        args = RemoteExecServerConnectArgs(setting.proxy.url, client_name="mine", resume_session_id=session)
        client = ExecServerClient(args)
        resuming = tasks.spawn(client.__aenter__(), name="resume")
        await setting.proxy.knocks(3)  # the first client, a refusal, and another attempt
        await setting.client.detach()
        async with asyncio.timeout(PATIENCE):
            await resuming
        assert client.session_id == session
        assert (await (await client.start(["echo", "hello"])).collect()).stdout == b"hello\n"
        await client.aclose()


async def test_a_process_runs_where_and_with_what_it_is_told(tmp_path: Path) -> None:
    only = EnvPolicy(Inherit.NONE, ignore_default_excludes=False, exclude=[], set={"A": "policy"}, include_only=[])
    async with connected(tmp_path) as setting:
        place = setting.folder / "a b"
        place.mkdir()
        launch = StartOptions(cwd=str(place), env={"B": "given"}, env_policy=only, arg0="other", process_id="mine")
        process = await setting.client.start(["sh", "-c", "pwd; echo $A $B $HOME $0"], launch)
        assert process.id == "mine"
        assert (await process.collect()).stdout.decode() == f"{place}\npolicy given other\n"


async def test_a_command_that_cannot_run_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        with pytest.raises(RequestRefused, match="No such file"):
            await setting.client.start(["/no/such/program"])
        assert "0 processes" in repr(setting.client)


async def test_two_processes_cannot_have_one_name(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        await setting.client.start(["sleep", "60"], StartOptions(process_id="twin"))
        with pytest.raises(ExecServerError, match="another process with this id"):
            await setting.client.start(["sleep", "60"], StartOptions(process_id="twin"))


async def test_a_start_whose_answer_was_lost_is_ended_and_never_adopted(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        os.mkfifo(setting.folder / "pid")
        setting.proxy.mute()
        async with asyncio.TaskGroup() as group:
            start = group.create_task(_start(setting.client, StartOptions(process_id="doubtful")))
            running = await pid_told(setting)
            await setting.proxy.something_held.wait()
            setting.proxy.cut()
        assert isinstance(start.result(), OutcomeUnknown)
        await has_ended(running)
        assert await setting.client.environment_status() == EnvironmentStatus()
        assert "0 processes" in repr(setting.client)


async def test_a_start_that_nobody_waits_for_any_longer_is_ended(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        os.mkfifo(setting.folder / "pid")
        setting.proxy.mute()
        async with asyncio.TaskGroup() as group:
            start = group.create_task(setting.client.start(TELLS_ITS_PID))
            running = await pid_told(setting)
            await setting.proxy.something_held.wait()
            start.cancel()
        setting.proxy.unmute()
        await has_ended(running)
        assert "0 processes" in repr(setting.client)


async def test_leaving_the_client_ends_what_still_runs(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        os.mkfifo(setting.folder / "pid")
        async with ExecServerClient(setting.server.url) as client:
            process = await client.start(TELLS_ITS_PID)
            running = await pid_told(setting)
        await has_ended(running)
        assert process.is_over


async def test_another_client_takes_over_where_the_first_one_left(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        launch = StartOptions(pipe_stdin=True, process_id="heirloom")
        process = await setting.client.start(["sh", "-c", "echo first; head -n 2"], launch)
        await anext(process.events())
        await process.write(b"second\n")
        session_id = await setting.client.detach()
        with pytest.raises(SessionLost, match="has detached"):
            await process.wait()
        options = ExecServerClientConnectOptions(resume_session_id=session_id)
        async with ExecServerClient(setting.server.url, options) as heir:
            assert heir.session_id == session_id
            adopted = await heir.adopt("heirloom")
            with pytest.raises(ExecServerError, match="already has it"):
                await heir.adopt("heirloom")
            await adopted.write(b"third\n")
            assert (await adopted.collect()).stdout == b"first\nsecond\nthird\n"
            with pytest.raises(RequestRefused, match="unknown process"):
                await heir.adopt("nobody")


async def test_a_process_that_the_server_has_forgotten_is_lost_alone(tmp_path: Path) -> None:
    """Its name is taken from the server behind the client's back."""
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["sleep", "60"])
        stranger = Notification("process/exited", Raw(b'{"processId": "nobody", "seq": 1, "exitCode": 0}'))
        setting.client.notification_received(stranger)
        process.id = "forgotten"
        setting.proxy.cut()
        with pytest.raises(ProcessLost, match="unknown process id forgotten"):
            await process.wait()
        assert await setting.client.environment_status() == EnvironmentStatus()


async def test_news_that_cannot_be_read_or_is_not_for_us_is_passed_over(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        for method, params in [("process/output", b'{"seq": "x"}'), ("some/news", b"{}"), ("fs/missingChanged", b"[]")]:
            setting.client.notification_received(Notification(method, Raw(params)))
        assert await setting.client.environment_status() == EnvironmentStatus()


async def test_a_server_that_is_killed_takes_no_client_with_it(tmp_path: Path) -> None:
    options = ExecServerClientConnectOptions(recovery_seconds=0.3)
    async with connected(tmp_path, options) as setting:
        process = await setting.client.start(["sleep", "60"])
        setting.server.process.kill()
        with pytest.raises(ExecServerError):
            await process.collect()
        assert process.is_over


async def _start(client: ExecServerClient, launch: StartOptions) -> ExecServerError | None:
    try:
        await client.start(TELLS_ITS_PID, launch)
    except ExecServerError as exc:
        return exc
    return None


SERVER_KEEPS_SESSIONS = 30.0
"""Seconds that a server keeps a session without a connection."""


def test_recovery_ends_before_the_server_forgets_the_session() -> None:
    assert DEFAULT_OPTIONS.recovery_seconds == RECOVERY_SECONDS < SERVER_KEEPS_SESSIONS


def test_a_process_inherits_the_servers_environment_but_not_its_secrets() -> None:
    policy = DEFAULT_START.env_policy
    assert policy is not None
    assert policy.inherit is Inherit.ALL
    assert not policy.ignore_default_excludes


def test_every_error_is_an_exec_server_error_and_a_sentence_for_people() -> None:
    missing = PathNotFound("fs/readFile", NOT_FOUND, "No such file or directory (os error 2)")
    assert isinstance(missing, RequestRefused)
    for error in (missing, EventGap("p1", 3, 9), OutputUnread("p1", 64)):
        assert isinstance(error, ExecServerError)
        assert isinstance(error, Refused)
        assert str(error).startswith("cannot ")


def test_a_gap_names_its_process_and_the_first_missing_event() -> None:
    gap = EventGap("p1", 3, 9)
    assert (gap.process_id, gap.missing, gap.through) == ("p1", 3, 9)
    assert "process p1" in str(gap)
