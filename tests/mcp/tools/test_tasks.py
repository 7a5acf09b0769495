"""A turn that goes on as a task, on the real Codex: looked at, answered, taken back; and known by its own id alone."""

from pathlib import Path

import pytest

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.principals import LOCAL
from codex_mcp.mcp.schema.task_shapes import TaskName, task_id
from codex_mcp.wire.mcp import CAPABILITIES_KEY, MISSING_CAPABILITY, STATELESS_REVISIONS, TASKS_EXTENSION, VERSION_KEY
from tests.support.servers.mcp_server import Json, McpServer, scripted_server
from tests.support.servers.mcp_session import memory_session
from tests.support.team.team_server import team_server

METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


def meta(**capabilities: object) -> Json:
    return {VERSION_KEY: STATELESS_REVISIONS[0], CAPABILITIES_KEY: capabilities}


DECLARED = meta(elicitation={}, extensions={TASKS_EXTENSION: {}})


async def started(server: McpServer, prompt: str, **arguments: object) -> Json:
    return await server.run("codex", {"prompt": prompt, "background": True, **arguments}, meta=DECLARED)


async def looked_at(server: McpServer, task: Json) -> Json:
    return await server.result(server.request("tasks/get", {"taskId": task["taskId"], "_meta": DECLARED}))


async def news(server: McpServer) -> Json:
    """Wait until a turn asks or ends."""
    return await server.run("codex_wait", {}, meta=DECLARED)


async def test_a_turn_in_the_background_is_a_task_whose_result_is_read_from_it(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        task = await started(server, '[[scene: gate text="Done."]]')
        working = await looked_at(server, task)
        await model.wait_for_gate("gate")
        model.release("gate")
        await news(server)
        done = await looked_at(server, task)
        again = await looked_at(server, task)
    assert (task["resultType"], working["resultType"], done["resultType"]) == ("task", "complete", "complete")
    assert (task["status"], working["status"], done["status"]) == ("working", "working", "completed")
    assert task["createdAt"] == working["createdAt"] == done["createdAt"] <= done["lastUpdatedAt"]
    assert done["result"]["structuredContent"]["content"] == "Done."
    assert "result" not in working
    assert again == done


async def test_the_result_of_an_agents_task_says_whose_it_is(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        task = await started(server, '[[scene: gate text="Done."]]', identity="arch")
        await model.wait_for_gate("gate")
        model.release("gate")
        (finished,) = (await news(server))["structuredContent"]["finished"]
        done = await looked_at(server, task)
    assert finished["identity"] == "arch"
    assert done["result"]["structuredContent"] == finished


async def test_a_call_that_takes_too_long_becomes_a_task_and_one_that_does_not_has_its_result(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        long = await started(server, "[[scene: gate]]", background=False, **{"wait-seconds": 0.1})
        short = await started(server, '[[scene: say text="Done."]]', background=False)
        model.release("gate")
        await news(server)
    assert (long["resultType"], long["status"]) == ("task", "working")
    assert (short["resultType"], short["structuredContent"]["content"]) == ("complete", "Done.")


async def test_what_a_task_asks_is_answered_with_an_update_once(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        task = await started(server, '[[scene: escalate cmd="touch made"]]')
        await news(server)
        asking, same = await looked_at(server, task), await looked_at(server, task)
        ((key, question),) = asking["inputRequests"].items()
        given: Json = {"taskId": task["taskId"], "_meta": DECLARED}
        responses = {"unknown": 1, key: {"action": "accept", "content": {}}}
        unknown = await server.result(server.request("tasks/update", {**given, "inputResponses": {"unknown": 1}}))
        still = await looked_at(server, task)
        update = await server.result(server.request("tasks/update", {**given, "inputResponses": responses}))
        after = await looked_at(server, task)
        await news(server)
        done = await looked_at(server, task)
        assert (server.setup.work / "made").exists()
    assert (asking["status"], question["method"]) == ("input_required", "elicitation/create")
    assert asking["inputRequests"] == same["inputRequests"] == still["inputRequests"], "clients compare them"
    assert unknown == update == {"resultType": "complete"}
    assert "inputRequests" not in after
    assert (done["status"], done["result"]["structuredContent"]["content"]) == ("completed", "It ran.")


async def test_a_task_that_is_taken_back_is_cancelled_and_that_can_be_said_twice(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        task = await started(server, "[[scene: gate]]")
        await model.wait_for_gate("gate")
        given = {"taskId": task["taskId"], "_meta": DECLARED}
        acknowledged = await server.result(server.request("tasks/cancel", given))
        await news(server)
        cancelled = await looked_at(server, task)
        again = await server.result(server.request("tasks/cancel", given))
        assert (await looked_at(server, task)) == cancelled
    assert acknowledged == again == {"resultType": "complete"}
    assert cancelled["status"] == "cancelled"
    assert "result" not in cancelled


async def test_a_turn_that_waits_for_another_is_a_task_of_its_own(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        begun = await server.run("codex", {"prompt": "[[scene: gate]]", "background": True}, meta=meta())
        thread = begun["structuredContent"]["threadId"]
        reply = {"threadId": thread, "prompt": '[[scene: say text="two"]]', "background": True}
        task = await server.run("codex-reply", reply, meta=DECLARED)
        waiting = await looked_at(server, task)
        await server.result(server.request("tasks/cancel", {"taskId": task["taskId"], "_meta": DECLARED}))
        cancelled = await looked_at(server, task)
        await model.wait_for_gate("gate")
        model.release("gate")
        first = await server.run("codex_wait", {"threadIds": [thread]}, meta=meta())
    assert (waiting["status"], waiting["statusMessage"]) == ("working", "waiting for an earlier turn")
    assert cancelled["status"] == "cancelled"
    assert begun["structuredContent"]["status"] == "running", "its client does not know tasks"
    assert [turn["status"] for turn in first["structuredContent"]["finished"]] == ["completed"]


@pytest.mark.parametrize("method", METHODS)
async def test_who_does_not_declare_tasks_is_told_so(tmp_path: Path, method: str) -> None:
    async with memory_session(tmp_path) as (client, _session):
        params = {"taskId": "x", "inputResponses": {}}
        undeclared = await client.ask(method, {**params, "_meta": meta(extensions={"other": {}})})
        assert undeclared["error"]["code"] == MISSING_CAPABILITY
        assert undeclared["error"]["data"] == {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}
        assert (await client.ask(method, params))["error"]["code"] == -32601, "the other era has no tasks of this kind"


@pytest.mark.parametrize("method", METHODS)
async def test_a_task_that_there_is_not_is_the_same_error_whether_made_up_or_past(tmp_path: Path, method: str) -> None:
    past = task_id(bytes(KEY_BYTES), TaskName("thread", "turn", LOCAL, 1.0))
    async with memory_session(tmp_path) as (client, _session):
        answers = [
            await client.ask(method, {"taskId": name, "inputResponses": {}, "_meta": DECLARED})
            for name in ("", "made-up", past)
        ]
    assert answers == [
        {"error": {"code": -32602, "message": "Invalid params: there is no such task, or not any more"}}
    ] * len(answers)


@pytest.mark.parametrize(
    ("method", "params"), [("tasks/get", {}), ("tasks/cancel", {"taskId": 1}), ("tasks/update", {"taskId": "x"})]
)
async def test_parameters_that_do_not_fit_are_invalid(tmp_path: Path, method: str, params: Json) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert (await client.ask(method, {**params, "_meta": DECLARED}))["error"]["code"] == -32602
