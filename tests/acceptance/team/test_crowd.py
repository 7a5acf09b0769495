"""Many agents at once, used, closed and resumed at the same time: every call is answered, and nothing breaks."""

import re
from collections import Counter

from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.team_server import say, structured

AGENTS = 16

ID = r"codex:[0-9a-f]{12}"
NAME = r"(codex|codex-\d+|dev-\d+)"
THREAD = r"threadId: [0-9a-f-]{36}"

ANSWERS = {
    "answered": rf"(again|back)\n\ncodex_id: {ID}, {THREAD} \(.*\)",
    "interrupted by the close": rf"The turn was interrupted\.[\s\S]*\n\ncodex_id: {ID}, {THREAD} \(.*\)",
    "given up in the queue": rf"the thread was closed before this turn could begin\n\ncodex_id: {ID}, {THREAD} \(.*\)",
    "too late": rf'Agent {NAME} \({ID}\) is closed\. Resume it with codex {{"codex_id": "{ID}", .*',
    "closed": rf"Agent {NAME} \({ID}\) is (closed|interrupted|already closed)\.",
}
"""What a reply, a close and a resume may be told, whole; nothing else."""


def kind_of(answer: Json) -> str:
    """An answer in a word; an unexpected one as it is."""
    if "error" in answer:
        return str(answer["error"])
    text = str(answer["result"]["content"][0]["text"])
    return next((kind for kind, pattern in ANSWERS.items() if re.fullmatch(pattern, text)), text)


async def test_replies_closes_and_resumes_in_the_same_moment_are_all_answered(team: Team) -> None:
    async with team("--max-concurrent-threads", str(AGENTS)) as (server, _model):
        for _round in range(2):
            names = [{"identity": f"dev-{number}"} if number % 2 else {} for number in range(AGENTS)]
            starts = [server.call("codex", {"prompt": say("hello"), **name}) for name in names]
            ids = [structured(await server.result(start))["codex_id"] for start in starts]
            calls = [server.call("codex-reply", {"prompt": say("again"), "codex_id": each}) for each in ids]
            calls += [server.call("codex_close", {"codex_id": each}) for each in ids]
            listing = server.call("codex_threads", {})
            calls += [server.call("codex", {"codex_id": each, "prompt": say("back")}) for each in ids[:4]]
            kinds = Counter([kind_of(await server.answer(call)) for call in calls])
            assert {row["codex_id"] for row in structured(await server.result(listing))["threads"]} >= set(ids)
            # A reply may come before the close, be interrupted by it, or come too late; nothing else.
            assert kinds.keys() <= ANSWERS.keys(), kinds
            assert kinds["closed"] == AGENTS
            for each in ids[:4]:
                await server.close_agent(each)
            rows = await server.threads()
            assert {rows[each]["status"] for each in ids} <= {"closed", "interrupted"}
            assert (await server.status())["threads"]["active"] == 0
    assert " ERROR " not in server.log
