"""The process of a core can be given up once, and its end has one reason."""

import asyncio

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import CoreLost
from codex_mcp.codex.process import CoreProcess


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
