"""An agent's life: busy, idle, closed, and resumed. A close comes before all prompts, and every call is answered."""

from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard, state_of
from tests.support.team.team_server import refusal, say, structured


@requirement("FR-17.1", "FR-17.2", "FR-17.5", "FR-10.1")
async def test_an_agent_is_busy_during_a_turn_and_idle_after_it_and_so_it_is_written(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": gate("one"), "identity": "arch"})
        await model.wait_for_gate("one")
        (codex_id,) = await server.threads()
        assert await state_of(server, codex_id) == ("active", "busy")
        model.release("one")
        assert structured(await server.result(first))["codex_id"] == codex_id
        assert await state_of(server, codex_id) == ("active", "idle")
        second = server.call("codex-reply", {"prompt": gate("two"), "codex_id": codex_id})
        await model.wait_for_gate("two")
        assert await state_of(server, codex_id) == ("active", "busy")
        assert (await server.status())["threads"]["busy"] == 1
        model.release("two")
        assert structured(await server.result(second))["status"] == "completed"
        assert await state_of(server, codex_id) == ("active", "idle")


@requirement("FR-17.2", "FR-17.3", "FR-3.4")
async def test_an_idle_agent_is_closed_at_once_and_its_name_is_free(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        arch = await server.start(say("one"), identity="arch")
        asked = len(model.requests)
        closed = await server.close_agent("arch")
        assert (closed["closed"], closed["status"], len(model.requests)) == (True, "closed", asked)
        assert await state_of(server, arch["codex_id"]) == ("closed", "closed")
        assert (await server.status())["identities"] == {}
        again = await server.start(say("two"), identity="arch")
        assert again["codex_id"] != arch["codex_id"]


@requirement("FR-17.3", "FR-17.4")
async def test_a_busy_agent_is_stopped_and_sums_up_before_it_is_closed(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        call = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        closed = await server.close_agent("arch")
        assert closed["status"] == "closed"
        stopped = structured(await server.result(call))
        assert stopped["status"] == "interrupted"
        summary = server.state_dir / "arch" / stopped["threadId"] / "summary.md"
        assert summary.read_text().startswith("In short:")
        assert await state_of(server, closed["codex_id"]) == ("closed", "closed")


@requirement("FR-17.4")
async def test_a_busy_agent_that_does_not_sum_up_in_time_is_interrupted(team: Team) -> None:
    async with team("--summary-timeout", "0.5", script=TEAM_SCRIPT) as (server, model):
        call = server.call("codex", {"prompt": f"never sums up {gate()}", "identity": "arch"})
        await model.wait_for_gate("gate")
        closed = await server.close_agent("arch")
        assert (closed["closed"], closed["status"]) == (True, "interrupted")
        stopped = structured(await server.result(call))
        assert not (server.state_dir / "arch" / stopped["threadId"] / "summary.md").exists()
        assert await state_of(server, closed["codex_id"]) == ("interrupted", "closed")


@requirement("FR-17.9")
async def test_closing_again_is_fine_also_at_the_same_time(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        (codex_id,) = await server.threads()
        both = [server.call("codex_close", {"codex_id": codex_id}) for _ in range(2)]
        results = [structured(await server.result(call)) for call in both]
        assert {result["closed"] for result in results} == {True}
        assert sorted(result["status"] for result in results) == ["already_closed", "closed"]
        later = await server.close_agent(codex_id)
        assert (later["closed"], later["status"]) == (True, "already_closed")


def assert_resumable_only_by_codex(result: Json) -> None:
    """Does an error of a closed agent's turn end with the advice that works?"""
    assert refusal(result).endswith("(the agent is closed; codex with its codex_id resumes it)")
    assert "codex-reply" not in refusal(result)


@requirement("FR-17.10")
async def test_whoever_waits_for_an_agent_that_is_closed_is_told_so(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        running = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        waiting = [server.call("codex-reply", {"prompt": say("xylophone"), "identity": "arch"}) for _ in range(3)]
        while (await server.status())["queues"] != {"arch": 3}:
            pass
        await server.close_agent("arch")
        interrupted = await server.result(running)
        assert structured(interrupted)["status"] == "interrupted"
        assert_resumable_only_by_codex(interrupted)
        for call in waiting:
            result = await server.result(call)
            assert_resumable_only_by_codex(result)
            assert "closed before this turn could begin" in refusal(result)
            assert structured(result)["identity"] == "arch"
        late = await server.run("codex-reply", {"prompt": say("too late"), "identity": "arch"})
        assert "is closed" in refusal(late)
        named = {"ids": [structured(interrupted)["codex_id"]], "timeout-seconds": 0}
        assert "codex-reply" not in str(await server.run("codex_wait", named))
        assert not any("xylophone" in str(request.json["input"]) for request in model.requests)


@requirement("FR-17.10", "FR-17.11")
async def test_close_goes_before_cancel_and_before_callers_who_come_with_it(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        running = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        waiting = server.call("codex-reply", {"prompt": say("xylophone"), "identity": "arch"})
        # All in one read: whatever came with the close or after it changes nothing any more.
        closing = server.call("codex_close", {"identity": "arch"})
        server.cancel(running)
        late = server.call("codex-reply", {"prompt": say("marimba"), "identity": "arch"})
        assert structured(await server.result(closing))["status"] == "closed"
        assert "closed" in refusal(await server.result(waiting))
        assert "closed" in refusal(await server.result(late))
        assert list((server.state_dir / "arch").glob("*/summary.md"))
        asked = str([request.json["input"] for request in model.requests])
        assert ("xylophone" in asked, "marimba" in asked) == (False, False)


@requirement("FR-17.11", "FR-8.9")
async def test_a_cancel_goes_before_the_callers_who_wait_and_they_go_on_in_order(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        running = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        waiting = [
            server.call("codex-reply", {"prompt": gate(name), "identity": "arch"}) for name in ("first", "second")
        ]
        server.cancel(running)
        for name, call in zip(("first", "second"), waiting, strict=True):
            await model.wait_for_gate(name)
            assert (await server.status())["threads"]["busy"] == 1
            model.release(name)
            assert structured(await server.result(call))["status"] == "completed"


@requirement("FR-17.7", "FR-16.3")
async def test_a_closed_agent_is_resumed_with_its_name_its_folder_and_its_conversation(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        folder = server.setup.work / "inner"
        folder.mkdir()
        call = server.call("codex", {"prompt": gate(), "identity": "arch", "cwd": str(folder)})
        await model.wait_for_gate("gate")
        closed = await server.close_agent("arch")
        await server.result(call)
        back = server.call("codex", {"codex_id": closed["codex_id"], "prompt": gate("back")})
        await model.wait_for_gate("back")
        assert await state_of(server, closed["codex_id"]) == ("active", "busy")
        model.release("back")
        answered = structured(await server.result(back))
        assert (answered["codex_id"], answered["identity"]) == (closed["codex_id"], "arch")
        assert await state_of(server, closed["codex_id"]) == ("active", "idle")
        assert (await server.threads())[closed["codex_id"]]["cwd"] == str(folder)
        told = heard(model)
        assert "In short: all is well" in told
        assert gate() in told


@requirement("FR-17.8")
async def test_a_new_agent_of_the_same_name_has_an_id_and_a_mind_of_its_own(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        old = await server.start(say("remember the blue door"), identity="arch")
        await server.close_agent("arch")
        new = await server.start(say("hello"), identity="arch")
        assert new["codex_id"] != old["codex_id"]
        assert new["threadId"] != old["threadId"]
        assert "blue door" not in str(model.requests[-1].json["input"])
        assert await state_of(server, old["codex_id"]) == ("closed", "closed")
        assert await state_of(server, new["codex_id"]) == ("active", "idle")
        assert (await server.status())["identities"] == {"arch": new["codex_id"]}
        # The name is another's now: the old one cannot have it back before that is closed.
        taken = await server.run("codex", {"codex_id": old["codex_id"], "prompt": say("back")})
        assert new["codex_id"] in refusal(taken)
