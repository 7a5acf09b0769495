"""Prompts, resources, roots and conversations of a server with a team."""

from pathlib import Path

from tests.support.servers.conversations import items, refusal
from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import TeamServer, say, structured, team_server


class WithRoots(TeamServer):
    """Its client declares roots."""

    async def initialize(self, *, elicitation: bool = True, name: str = "tests", revision: str = "2025-11-25") -> Json:
        """Shake hands."""
        info = {"name": name, "version": "1"}
        params = {"protocolVersion": revision, "capabilities": {"roots": {}}, "clientInfo": info}
        return await self.answer(self.request("initialize", params))


async def test_an_agent_works_in_the_clients_only_root_and_its_thread_can_be_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".codex/prompts").mkdir(parents=True)
    (project / ".codex/prompts/release.md").write_text("Release it.")
    async with team_server(tmp_path, kind=WithRoots) as (server, _model):
        call = server.call("codex", {"prompt": "[[scene: run cmd=pwd]]", "identity": "arch"})
        asked = await server.wait_for(lambda message: message.get("method") == "roots/list")
        server.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": project.as_uri()}]}})
        done = structured(await server.result(call))
        assert str(project) in done["content"]
        await server.reply(done["codex_id"], say("again"))
        read = await server.result(server.request("resources/read", {"uri": f"codex://threads/{done['threadId']}"}))
        assert "**Codex:**\n\nagain" in read["contents"][0]["text"]
        prompts = (await server.result(server.request("prompts/list")))["prompts"]
        assert [prompt["name"] for prompt in prompts] == ["release"]


async def test_an_agent_is_no_conversation_because_messages_would_bypass_the_limits(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        agent = await server.start(say("hi"), identity="arch")
        told = await refusal(server, "sendUserMessage", conversationId=agent["threadId"], items=items(say("more")))
        assert told == (-32600, f"conversation not found: {agent['threadId']}")
