"""One core for everybody: started when needed, buried when dead, stopped in the end. Programs here are real."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from codex_mcp.base.errors import NoCodex
from codex_mcp.base.processes.marks import SERVED_BY
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.app_server import AppServer
from codex_mcp.codex.core import CoreError, CoreLost
from codex_mcp.codex.launch import launcher
from codex_mcp.codex.process import CoreProcess
from codex_mcp.codex.starting.guard import start_guard
from codex_mcp.codex.supervisor import CoreLaunch, Launcher
from tests.support.core.cores import Listener, environment_below, program, settings_below, supervised
from tests.support.mail.folders import until
from tests.support.patience import PATIENCE

GREETING = """read -r _; echo '{"id":0,"result":{"userAgent":"codex/0"}}'; """
"""A program that shakes hands, and then does what follows."""


def real_codex(folder: Path) -> Launcher:
    return launcher(settings_below(folder).core, environment_below(folder))


async def gone(listener: Listener) -> CoreLost:
    await listener.changes.until(lambda: bool(listener.lost))
    (reason,) = listener.lost
    return reason


async def test_the_first_call_starts_the_real_codex_and_the_others_share_it(tmp_path: Path) -> None:
    async with supervised(real_codex(tmp_path), settings_below(tmp_path)) as supervisor:
        assert (supervisor.pid, repr(supervisor)) == (None, "<Supervisor none, 0 starts>")
        assert (supervisor.backend, supervisor.version, supervisor.last_exit) == ("", "", None)
        cores = await asyncio.gather(supervisor.core(), supervisor.core(), supervisor.core())
        assert len(set(map(id, cores))) == 1
        assert await supervisor.core() is cores[0]
        assert supervisor.starts == 1
        assert (supervisor.backend, supervisor.version.count(".")) == ("app-server", 2)
        assert repr(supervisor) == "<Supervisor running, 1 starts>"
        assert (await cores[0].account()).account is None
        assert supervisor.pid is not None
        os.kill(supervisor.pid, 0)
    assert repr(supervisor) == "<Supervisor stopped, 1 starts>"


async def test_whoever_warms_up_starts_a_core_only_if_there_is_none(tmp_path: Path) -> None:
    async with supervised(real_codex(tmp_path), settings_below(tmp_path)) as supervisor:
        supervisor.warm_up()
        supervisor.warm_up()
        core = await supervisor.core()
        supervisor.warm_up()
        assert await supervisor.core() is core
        assert repr(supervisor) == "<Supervisor running, 1 starts>"
        await supervisor.stop()
        supervisor.warm_up()
        assert repr(supervisor) == "<Supervisor stopped, 1 starts>"


async def test_a_real_codex_that_is_killed_is_told_and_followed_by_another(tmp_path: Path) -> None:
    listener = Listener()
    async with supervised(real_codex(tmp_path), settings_below(tmp_path), listener) as supervisor:
        first = await supervisor.core()
        assert supervisor.pid is not None
        os.kill(supervisor.pid, signal.SIGKILL)
        reason = await gone(listener)
        with pytest.raises(CoreLost, match=r"Codex ended unexpectedly \(signal SIGKILL\)"):
            await first.account()
        assert supervisor.last_exit == "signal SIGKILL"
        second = await supervisor.core()
        assert second is not first
        assert (await second.account()).account is None
    assert str(reason) == (
        "Codex ended unexpectedly (signal SIGKILL). The thread is on disk: "
        "call codex-reply to go on, and a new Codex starts by itself."
    )


async def test_a_real_codex_leaves_when_it_is_asked_to(tmp_path: Path) -> None:
    listener = Listener()
    async with supervised(real_codex(tmp_path), settings_below(tmp_path), listener) as supervisor:
        core = await supervisor.core()
        await supervisor.stop()
        await supervisor.stop()
        with pytest.raises(CoreLost, match="the server is shutting down"):
            await supervisor.core()
        with pytest.raises(CoreLost):
            await core.account()
    assert [str(reason) for reason in listener.lost] == ["the server has stopped Codex"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            "echo first >&2; echo 'no licence' >&2; exit 3",
            "cannot start Codex (sh): it ended with exit code 3: no licence",
        ),
        (
            """printf 'Error: no home\n\nStack backtrace:\n   0: <unknown>\n   6: <unknown>\n' >&2; exit 1""",
            "cannot start Codex (sh): it ended with exit code 1: Error: no home",
        ),
        ("exit 0", "cannot start Codex (sh): it ended with exit code 0"),
        ("kill -SEGV $$", "cannot start Codex (sh): it ended with signal SIGSEGV"),
        ("echo waiting >&2; exec sleep 1000", "cannot start Codex (sh): it did not answer in time: waiting"),
        ("echo garbage; echo '[]'; exec sleep 1000", "cannot start Codex (sh): it did not answer in time"),
        (
            """read -r _; echo '{"id":0,"error":{"code":1,"message":"too old"}}'; exec sleep 1000""",
            "cannot start Codex (sh): too old",
        ),
    ],
)
async def test_a_core_that_cannot_start_says_why_to_everybody_and_is_tried_again(
    tmp_path: Path, script: str, why: str
) -> None:
    listener = Listener()
    limit = 2.0 if "in time" in why else PATIENCE
    async with supervised(program(script), settings_below(tmp_path, start_timeout=limit), listener) as supervisor:
        told = await asyncio.gather(supervisor.core(), supervisor.core(), return_exceptions=True)
        assert [(type(error), str(error)) for error in told] == [(CoreError, why)] * 2
        assert supervisor.pid is None
        with pytest.raises(CoreError):
            await supervisor.core()
        assert supervisor.starts == 2
    assert listener.lost == []


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def nowhere() -> CoreLaunch:
        return CoreLaunch(argv=["/nowhere/codex"], environment={})

    async with supervised(nowhere, settings_below(tmp_path)) as supervisor:
        with pytest.raises(CoreError, match=r"cannot start Codex \(/nowhere/codex\): No such file or directory"):
            await supervisor.core()
        assert supervisor.starts == 0


async def test_without_any_codex_the_reason_is_told(tmp_path: Path) -> None:
    settings = settings_below(tmp_path, codex_bin="/nowhere/codex")
    async with supervised(launcher(settings.core, {"PATH": ""}), settings) as supervisor:
        with pytest.raises(NoCodex):
            await supervisor.core()


async def test_a_core_whose_guard_is_still_starting_ends_with_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting, never = asyncio.Event(), asyncio.Event()

    async def start_guard(_mark: str) -> None:
        starting.set()
        await never.wait()

    async def guarded() -> CoreLaunch:
        pid = tmp_path / "pid"
        os.mkfifo(pid)
        argv = ["sh", "-c", f"echo $$ >{pid}; exec sleep 1000"]
        return CoreLaunch(argv, {"PATH": os.environ["PATH"]}, is_guarded=True)

    monkeypatch.setattr("codex_mcp.codex.supervisor.start_guard", start_guard)
    async with supervised(guarded, settings_below(tmp_path)) as supervisor:
        supervisor.warm_up()
        await starting.wait()
        pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
        await supervisor.stop()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_whoever_asks_may_give_up_and_the_others_still_get_their_core(tmp_path: Path) -> None:
    async with supervised(program(GREETING + "cat > /dev/null"), settings_below(tmp_path)) as supervisor:
        tasks = TaskSet()
        impatient = tasks.spawn(supervisor.core(), name="impatient")
        patient = tasks.spawn(supervisor.core(), name="patient")
        await asyncio.sleep(0)
        impatient.cancel()
        assert isinstance(await patient, AppServer)
        assert impatient.cancelled()


async def test_a_start_that_is_under_way_is_given_up_when_we_stop(tmp_path: Path) -> None:
    async with supervised(program("exec sleep 1000"), settings_below(tmp_path)) as supervisor:
        tasks = TaskSet()
        asking = tasks.spawn(supervisor.core(), name="ask")
        while supervisor.starts == 0:  # noqa: ASYNC110  nobody is told of a start
            await asyncio.sleep(0)
        assert repr(supervisor) == "<Supervisor starting, 1 starts>"
        await supervisor.stop()
        with pytest.raises(CoreLost, match="the server is shutting down"):
            await asking


async def test_a_core_that_closes_its_stdout_and_stays_is_killed(tmp_path: Path) -> None:
    listener = Listener()
    script = GREETING + "read -r _; exec 1>&-; exec sleep 1000"
    async with supervised(program(script), settings_below(tmp_path), listener) as supervisor:
        await supervisor.core()
        assert "signal SIGKILL" in str(await gone(listener))


async def test_a_core_that_has_closed_its_stdout_ends_with_the_server(tmp_path: Path) -> None:
    script = GREETING + "read -r _; exec 1>&-; exec sleep 1000"
    async with supervised(program(script), settings_below(tmp_path)) as supervisor:
        await supervisor.core()
        pid = supervisor.pid
        assert pid is not None
        await until(lambda: supervisor.pid is None)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_core_that_does_not_leave_is_killed(tmp_path: Path) -> None:
    async with supervised(program(GREETING + "exec sleep 1000"), settings_below(tmp_path)) as supervisor:
        await supervisor.core()
        pid = supervisor.pid
        assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_dead_core_waits_for_no_answer(tmp_path: Path) -> None:
    listener, withdrawn = Listener(), asyncio.Event()

    async def think() -> object:
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return {}

    listener.answer = think
    ask = """echo '{"id":7,"method":"item/fileChange/requestApproval","params":{"threadId":"t"}}'; """
    async with supervised(
        program(GREETING + ask + "read -r _; read -r _; exit 1"), settings_below(tmp_path), listener
    ) as supervisor:
        core = await supervisor.core()
        await listener.changes.until(lambda: bool(listener.questions))
        with pytest.raises(CoreLost):
            await core.account()
        await gone(listener)
        assert withdrawn.is_set()


ADOPTION = """
import asyncio, os, sys
from codex_mcp.base.processes.offspring import children
from codex_mcp.base.processes.orphans import adopt_orphans
from codex_mcp.codex.supervisor import Supervisor
from tests.support.core.cores import Listener, no_pace, program, settings_below
from pathlib import Path

async def main():
    listener = Listener()
    leave = "setsid sh -c 'setsid true & exec sleep 1000' > /dev/null 2>&1 & "
    launch = program(sys.argv[2] + leave + "cat > /dev/null")
    supervisor = Supervisor(settings_below(Path(sys.argv[1])).core, listener, launch, no_pace)
    await supervisor.core()
    core = supervisor.pid
    os.kill(core, 9)
    await listener.changes.until(lambda: bool(listener.lost))
    print("after its death:", children())
    await supervisor.core()
    print("its follower lives:", children() - supervisor.orphans() == {supervisor.pid})
    left = await asyncio.create_subprocess_exec("sh", "-c", "sh -c 'exit 0' &")
    await left.wait()
    while len(children()) > 1:
        await supervisor.reap_orphans()
    spared = await asyncio.create_subprocess_exec("sleep", "1000")
    await supervisor.end_orphans(lambda pid: pid != spared.pid)
    print("spared:", children() == {supervisor.pid, spared.pid})
    spared.kill()
    await spared.wait()
    await supervisor.stop()
    print("in the end:", children())

adopt_orphans()
asyncio.run(main())
"""


async def test_what_a_dead_core_leaves_behind_is_ended(tmp_path: Path) -> None:
    # In a Python of its own: who adopts orphans keeps doing so for life.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        ADOPTION,
        str(tmp_path),
        GREETING,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert said.decode().splitlines() == [
        "after its death: set()",
        "its follower lives: True",
        "spared: True",
        "in the end: set()",
    ]


async def sleeper(**environment: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec("sleep", "1000", env={"PATH": os.defpath, **environment})


async def test_processes_with_the_mark_end_with_the_server_and_others_do_not() -> None:
    mark = os.urandom(8).hex()
    marked, longer, other = (
        await sleeper(**{SERVED_BY: mark}),
        await sleeper(**{SERVED_BY: f"{mark}0"}),
        await sleeper(),
    )
    guard = await start_guard(mark)
    assert guard is not None
    await guard.aclose()  # as the end of the server does
    async with asyncio.timeout(PATIENCE):
        assert await marked.wait() == -9
        assert (await guard.wait()).code == 0
    assert (longer.returncode, other.returncode) == (None, None)
    for process in (longer, other):
        process.kill()
        await process.wait()


async def test_the_first_fault_is_told_and_the_process_ended_once() -> None:
    ended: list[str] = []
    process = CoreProcess(7, lambda: ended.append("ended"))
    process.give_up("did not answer")
    process.give_up("sent what cannot be read")
    assert (process.fault, ended) == ("did not answer", ["ended"])
    assert repr(process) == "<CoreProcess 7 did not answer>"


async def test_everybody_who_asks_is_told_the_same_reason_whoever_stops_asking() -> None:
    process = CoreProcess(7, lambda: None)
    tasks = TaskSet()
    asking = [tasks.spawn(process.why_lost(), name=f"asks {number}") for number in range(3)]
    await asyncio.sleep(0)
    asking[0].cancel()
    process.lost(CoreLost("exit code 3"))
    process.lost(CoreLost("too late"))
    process.give_up("too late as well")
    assert [str(await asked) for asked in asking[1:]] == ["exit code 3"] * 2
    assert (str(await process.why_lost()), process.fault) == ("exit code 3", "")
    await tasks.aclose()
