"""`control/steps`, and the steps of a thread as they happen."""

from pathlib import Path

import msgspec

from codex_mcp.wire.control_thread import Steps
from tests.support.servers.control_socket import HELLO, RawControl, raw_control, socket_of
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import gate
from tests.support.team.team_server import say, structured, team_server

SCRIPT = """
default = "say"
[scenes.say]
parameters = { text = "Done." }
steps = [{ say = "{text}" }]
[scenes.gate]
parameters = { name = "gate" }
steps = [{ run = "echo one; exit 3" }, { say = "Half of it." }, { gate = "{name}" }, { say = "The rest." }]
"""


async def steps(client: RawControl, **asked: object) -> Steps:
    """The answer to `control/steps`."""
    answer = await client.ask("control/steps", asked)
    return msgspec.convert(answer["result"], Steps)


async def until(client: RawControl, event: str, **expected: object) -> Json:
    """What is told of the next step of this kind with these values."""
    while (message := await client.read()) is not None:
        told = message.get("params", {})
        step = told.get("data", {}).get("step", told.get("data", {}))
        if told.get("kind") == event and all(step.get(name) == value for name, value in expected.items()):
            data: Json = told["data"]
            return data
    raise AssertionError(f"nothing was told of {event} {expected}")


async def test_old_turns_and_the_running_one_have_the_same_steps(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    async with team_server(tmp_path, script=script, elicitation=False) as (server, model):
        started = await server.start(say("First."), identity="arch", **{"approval-policy": "never"})
        async with raw_control(await socket_of(server)) as client:
            await client.ask("control/follow", {"topics": ["thread:arch"], "steps": True})
            await server.reply("arch", gate(), background=True)
            ran = await until(client, "item.ended", kind="ran")
            said = await until(client, "item.ended", kind="says", text="Half of it.")
            await server.reply("arch", "And then?", background=True)
            now = await steps(client, thread="arch")
            assert [(turn.status, turn.by, turn.steps) for turn in now.turns] == [
                ("completed", "caller", 2),
                ("inProgress", "caller", 3),
            ]
            assert now.turns[0].asked == say("First.")
            assert [step.kind for step in now.steps] == ["user", "ran", "says"]
            known = {step.id: step for step in now.steps}
            for live in (ran, said):
                stored = known[live["step"]["id"]]
                assert msgspec.to_builtins(stored) == {**live["step"], "n": stored.n}
            assert (known[ran["step"]["id"]].exit_code, known[ran["step"]["id"]].output) == (3, "one\n")
            assert [each.prompt for each in now.queue] == ["And then?"]
            assert (now.setup.approval, now.total) == ("never", 3)
            assert now.usage is not None
            assert 0 < now.usage.context <= now.usage.total
            old = await steps(client, thread=started["threadId"], turn=now.turns[0].id, before=2, limit=1)
            assert [(step.n, step.text) for step in old.steps] == [(1, "First.")]
            model.release("gate")
            assert (await until(client, "turn", status="completed"))["id"] == now.turns[1].id
        async with raw_control(await socket_of(server), HELLO | {"as": "mira"}) as stranger:
            for name in ("arch", started["threadId"], started["codex_id"]):
                refused = await stranger.ask("control/steps", {"thread": name})
                unknown = await stranger.ask("control/steps", {"thread": "none"})
                expected = unknown["error"]["message"].replace("none", name)
                assert refused["error"]["message"] == expected


async def test_a_thread_without_an_agent_is_shown_by_its_id_and_its_findings_by_the_agent(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    finding = (
        '{"findings":[{"title":"[P1] Off by one","body":"It ends early.","confidence_score":1,"priority":1,'
        '"code_location":{"absolute_file_path":"/a.py","line_range":{"start":3,"end":5}}}],'
        '"overall_correctness":"patch is incorrect","overall_explanation":"It breaks.","overall_confidence_score":1}'
    )
    review = msgspec.json.encode(finding).decode()
    script.write_text(f'{SCRIPT}[scenes.review]\nwhen = "Look at it"\nsteps = [{{ say = {review} }}]\n')
    async with team_server(tmp_path, script=script, elicitation=False) as (server, _model):
        await server.start(say("First."), identity="arch")
        arguments = {"id": "arch", "target": "custom", "of": "Look at it"}
        reviewed = structured(await server.run("codex_review", arguments))
        async with raw_control(await socket_of(server)) as client:
            (row,) = (await steps(client, thread="arch")).reviews
            assert (row.thread, row.status) == (reviewed["threadId"], "completed")
            assert [(each.title, each.file, each.first, each.last) for each in row.findings] == [
                ("Off by one", "/a.py", 3, 5)
            ]
            inside = await steps(client, thread=row.thread)
            assert inside.turns[-1].status == "completed"
