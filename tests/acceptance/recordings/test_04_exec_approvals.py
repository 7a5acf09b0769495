"""Counterparts of the recordings 04: every answer to the question whether a command may run."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.recordings.exchange import (
    BEGUN,
    BY_NOBODY,
    ENDED,
    NEW,
    answered,
    as_recorded,
    event_of,
    event_types,
    failed,
    scene,
    serve,
    thread_of,
)
from tests.support.servers.mcp_server import Json

ASKED = "exec_approval_request"
RAN = [ASKED, "exec_command_begin", "exec_command_end", "token_count"]
NOT_RUN = [ASKED, "token_count"]
QUICK_OUTPUT = ("exec_command_output_delta",)
"""What a command prints in its last moment is told with its end, and before that only sometimes."""

NOT_APPROVED = "The request to run the command was not approved. Reason given: "


@dataclass(frozen=True, slots=True)
class Approves:
    """The answer lets the command run."""

    answer: Json


@dataclass(frozen=True, slots=True)
class Denies:
    """The answer does not, and the model is told why if there is anything to tell."""

    answer: Json
    why: str | None = None


def answer_with(result: object) -> Json:
    """The part of a JSON-RPC response that answers."""
    return {"result": result}


RULE = {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["touch"]}}
ERROR = {"error": {"code": -32601, "message": "elicitation not supported"}}

ANSWERS: dict[str, Approves | Denies] = {
    "04_exec_approved": Approves(answer_with({"decision": "approved"})),
    "04_exec_approved_for_session": Approves(answer_with({"decision": "approved_for_session"})),
    "04_exec_execpolicy_amend": Approves(answer_with({"decision": RULE})),
    "04_exec_mcp_accept": Approves(answer_with({"action": "accept", "content": {}})),
    "04_exec_mcp_accept_plus_decision": Approves(
        answer_with({"action": "accept", "content": {}, "decision": "approved"})
    ),
    "04_exec_denied": Denies(answer_with({"decision": "denied"})),
    "04_exec_denied_obj": Denies(
        answer_with({"decision": {"denied": {"rejection": "because I say so"}}}), "because I say so"
    ),
    "04_exec_denied_obj2": Denies(answer_with({"decision": {"denied": {"reason": "because I say so"}}})),
    "04_exec_mcp_decline": Denies(answer_with({"action": "decline"})),
    "04_exec_timed_out": Denies(answer_with({"decision": "timed_out"}), "the client says that its review timed out"),
    "04_exec_garbage_decision": Denies(
        answer_with({"decision": "sure thing"}), "the decision could not be read: 'sure thing'"
    ),
    "04_exec_garbage_nonobject": Denies(answer_with("yes"), "the answer could not be read: 'yes'"),
    "04_exec_null": Denies(answer_with({}), "the answer could not be read: an object with the keys []"),
    "04_exec_error_reply": Denies(ERROR, "the MCP client could not ask the user: elicitation not supported"),
}
"""By recording. Where 0.153.4 did something else with the answer, docs/compatibility.md says so."""


def told(model: ScriptedModel) -> list[str]:
    """What the model read of the refusal: the output of its call, and a message if there is one."""
    items = model.requests[-1].json["input"]
    assert isinstance(items, list)
    (call,) = [index for index, item in enumerate(items) if item["type"] == "function_call"]
    return [(item.get("output") or item["content"][0]["text"]).removesuffix(BY_NOBODY) for item in items[call + 1 :]]


@pytest.mark.parametrize("recording", ANSWERS)
async def test_the_answer_decides_whether_the_command_runs(tmp_path: Path, recording: str) -> None:
    expected = ANSWERS[recording]
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate"), "cwd": str(server.setup.work)})
        question = await server.question()
        server.send({"jsonrpc": "2.0", "id": question["id"], **expected.answer})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The command is over.")
        runs = isinstance(expected, Approves)
        assert event_types(server, call, but=QUICK_OUTPUT) == [*NEW, *(RAN if runs else NOT_RUN), *ENDED]
        assert (server.setup.work / "made.txt").exists() is runs
        if isinstance(expected, Denies):
            output, *why = told(model)
            assert "rejected by user" in output
            assert why == ([] if expected.why is None else [NOT_APPROVED + expected.why])


async def test_the_question_shows_the_command_as_0_153_4_did_and_adds_reason_and_choices(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate"), "cwd": str(server.setup.work)}, request_id=1)
        question = await server.question(0)
        server.reply(question["id"], {"decision": "denied"})
        thread = thread_of(await server.result(call))

        asked = event_of(server, call, ASKED)
        work = str(server.setup.work)
        command = "touch made.txt && echo done"
        params = question["params"]
        schema = params.pop("requestedSchema")
        choices = params.pop("codex_available_decisions")
        rule = params.pop("codex_proposed_execpolicy_amendment", None)
        assert params == {
            "message": f"Allow Codex to run `/bin/bash -lc '{command}'` in `{work}`?\nReason: It has to make a file.",
            "threadId": thread,
            "codex_elicitation": "exec-approval",
            "codex_mcp_tool_call_id": "1",
            "codex_event_id": asked["turn_id"],
            "codex_call_id": asked["call_id"],
            "codex_command": ["/bin/bash", "-lc", command],
            "codex_cwd": work,
            "codex_parsed_cmd": [{"type": "unknown", "cmd": command}],
            "codex_reason": "It has to make a file.",
        }
        assert set(schema["properties"]) == {"decision", "reason"}
        assert choices[0] == "approved"
        assert choices[-2:] == ["denied", "abort"]
        assert rule == asked.get("proposed_execpolicy_amendment")


async def test_what_is_approved_for_the_session_is_not_asked_again(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        first = server.call("codex", {"prompt": scene("escalate")})
        server.reply((await server.question())["id"], {"decision": "approved_for_session"})
        thread = thread_of(await server.result(first))
        again = server.call("codex-reply", {"threadId": thread, "prompt": scene("escalate", why="Again.")})
        result = await server.result(again)

        assert as_recorded(result) == answered(thread, "The command is over.")
        assert event_types(server, again, but=QUICK_OUTPUT) == [*BEGUN, *RAN[1:], *ENDED]


async def test_a_rule_that_nobody_proposed_is_not_saved(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate")})
        server.reply((await server.question())["id"], {"decision": RULE})
        await server.result(call)

        assert not (server.setup.codex_home / "rules").exists()


async def test_abort_ends_the_turn_and_the_call_and_the_thread_goes_on(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate")})
        server.reply((await server.question())["id"], {"decision": "abort"})
        result = await server.result(call)
        thread = thread_of(result)

        assert as_recorded(result) == failed(thread, "The turn was interrupted.")
        assert result["structuredContent"]["status"] == "interrupted"
        assert event_types(server, call, but=("token_count",)) == [*NEW, ASKED, "turn_aborted"]
        assert not (server.setup.work / "made.txt").exists()

        after = await server.run("codex-reply", {"threadId": thread, "prompt": scene("say", text="Next.")})
        assert as_recorded(after) == answered(thread, "Next.")
        server.close_stdin()
        assert await server.exit_code() == 0


@pytest.mark.parametrize("asked", [True, False])
async def test_a_denial_ends_the_turn_and_its_call_where_that_is_set(tmp_path: Path, asked: bool) -> None:  # noqa: FBT001
    async with serve(tmp_path, "--denial-ends-turn") as (server, model):
        await server.initialize(elicitation=asked)
        call = server.call("codex", {"prompt": scene("escalate")})
        if asked:
            server.reply((await server.question())["id"], {"action": "decline"})
        result = await server.result(call)
        thread = thread_of(result)

        why = "the user declined" if asked else "no one could be asked: the MCP client does not support elicitation"
        text = result["content"][0]["text"]
        assert result["isError"]
        assert "the request to run the command" in text
        assert f"was denied: {why}." in text
        assert len(model.requests) == 1, "the model is not asked to go on"
        assert not (server.setup.work / "made.txt").exists()

        after = await server.run("codex-reply", {"threadId": thread, "prompt": scene("say", text="Next.")})
        assert as_recorded(after) == answered(thread, "Next.")


async def test_a_client_that_cannot_be_asked_is_not_asked_and_nothing_hangs(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize(elicitation=False)
        call = server.call("codex", {"prompt": scene("escalate")})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The command is over.")
        assert event_types(server, call) == [*NEW, *NOT_RUN, *ENDED]
        assert [message for message in server.messages if message.get("method") == "elicitation/create"] == []
        reason = "no one could be asked: the MCP client does not support elicitation"
        assert told(model)[1] == NOT_APPROVED + reason
        assert BY_NOBODY in str(model.requests[-1].json["input"])
        command = "/bin/bash -lc 'touch made.txt && echo done'"
        assert result["structuredContent"]["warnings"] == [
            f"The agent asked to run the command `{command}`, which was refused: {reason}."
        ]
        server.close_stdin()
        assert await server.exit_code() == 0


async def test_a_question_that_nobody_answers_is_a_denial_at_the_deadline(tmp_path: Path) -> None:
    async with serve(tmp_path, "--approval-timeout", "0.2") as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate")})
        question = await server.question()
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The command is over.")
        assert told(model)[1] == NOT_APPROVED + "no one answered within 0.2 seconds"
        taken_back = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        assert taken_back["params"]["requestId"] == question["id"]
