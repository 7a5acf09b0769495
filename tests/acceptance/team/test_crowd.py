"""Many agents at once, talked to, closed and resumed in the same moment: everybody is answered, and nothing breaks."""

from collections import Counter

from tests.support.mcp_server import Json
from tests.support.team_fixtures import Team
from tests.support.team_server import say, structured

AGENTS = 16


def kind_of(answer: Json) -> str:
    """An answer in a word: a result, or how the refusal begins."""
    if "error" in answer:
        return str(answer["error"])
    result = answer["result"]
    return str(result["content"][0]["text"]).split()[0] if result.get("isError") else "ok"


async def test_replies_closes_and_resumes_in_the_same_moment_are_all_answered(team: Team) -> None:
    async with team("--max-concurrent-threads", str(AGENTS)) as (server, _model):
        for _round in range(2):
            names = [{"identity": f"dev-{number}"} if number % 2 else {} for number in range(AGENTS)]
            starts = [server.call("codex", {"prompt": say("hello"), **name}) for name in names]
            ids = [structured(await server.result(start))["codex_id"] for start in starts]
            calls = [server.call("codex-reply", {"prompt": say("again"), "codex_id": each}) for each in ids]
            calls += [server.call("codex_close", {"codex_id": each}) for each in ids]
            calls += [server.call("codex_threads", {})]
            calls += [server.call("codex", {"codex_id": each, "prompt": say("back")}) for each in ids[:4]]
            kinds = Counter([kind_of(await server.answer(call)) for call in calls])
            # A reply may come before the close, be interrupted by it, or come too late; nothing else.
            assert kinds.keys() <= {"ok", "The", "Agent", "the"}, kinds
            for each in ids[:4]:
                await server.close_agent(each)
            rows = await server.threads()
            assert {rows[each]["status"] for each in ids} <= {"closed", "interrupted"}
            assert (await server.status())["threads"]["active"] == 0
    assert " ERROR " not in server.log
