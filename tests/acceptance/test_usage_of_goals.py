"""Without a team, results are all that callers are told of tokens: together they have those of every request."""

from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json, McpServer, Setup
from tests.support.team.conservation import SCRIPT
from tests.support.team.team_server import structured

GOAL = {"goal": "go on", "goal-tokens": 40_000}


async def test_the_results_of_a_thread_with_goals_have_all_tokens_and_requests(tmp_path: Path) -> None:
    async with (
        ScriptedModel(load_script(SCRIPT)) as model,
        McpServer(Setup(tmp_path, model.codex_overrides())) as server,
    ):
        await server.initialize()
        told: list[Json] = [structured(await server.run("codex", {"prompt": "hello", **GOAL}))]
        thread = {"threadId": told[0]["threadId"]}

        async def until_idle() -> None:
            while (waited := structured(await server.run("codex_wait", {})))["running"] or waited["finished"]:
                told.extend(waited["finished"])

        await until_idle()
        told.append(structured(await server.run("codex-reply", {**thread, "prompt": "hello", **GOAL})))
        await until_idle()
        told.append(structured(await server.run("codex-reply", {**thread, "prompt": "hello"})))
        used = [each["usage"] for each in told if "usage" in each]
        answered = [each.tokens for each in model.counts if each.tokens is not None]
        assert sum(each["totalTokens"] for each in used) == sum(answered)
        assert sum(each["requests"] for each in used) == len(answered)
        assert len(answered) > len(used) + 10, "goals make many requests"
