"""Every line of the log can be traced: to the session, the principal, the request and the thread that it is about."""

import asyncio
import re
from hashlib import sha256
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.crowd import SAME_ID, BusVisitor, McpVisitor, SocketVisitor, Visitor, crowd
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import SESSION
from tests.support.servers.mcp_server import Json, Setup, scripted_server

SCRIPT = Path(__file__).parents[1] / "support/scripts/isolation.toml"
TOKENS = {name: f"the-token-of-{name}" for name in ("ada", "bob")}
ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}

LINE = re.compile(
    r"\S+Z \w+ +(?P<module>\S+)(?: session=(?P<session>\S+))?(?: principal=(?P<principal>\S+))?"
    r"(?: request=(?P<request>\S+))?(?: thread=(?P<thread>\S+))? (?P<message>.*)"
)


def parsed(log: str) -> list[dict[str, str]]:
    """The lines of a log as fields; what a line lacks is empty."""
    found = [LINE.fullmatch(line) for line in log.splitlines() if not line.startswith(" ")]
    return [match.groupdict("") for match in found if match is not None]


def session_in_log(visitor: Visitor) -> str | None:
    """What docs/logging.md says that the log shows of a session id; None where the client has no session."""
    match visitor:
        case McpVisitor():
            session_id = visitor.session.headers[SESSION]
        case BusVisitor() | SocketVisitor():
            session_id = visitor.session_id
        case _:
            return None
    return sha256(session_id.encode()).hexdigest()[:12]


async def run_one(visitor: Visitor) -> Json:
    arguments = {"prompt": f'[[scene: work mark="{visitor.mark}"]]', **ASKS}
    return await visitor.codex("codex", arguments, lambda question: {"action": "accept", "content": {}})


async def test_every_line_about_a_call_names_its_own_session_principal_request_and_thread(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    async with (
        ScriptedModel(load_script(SCRIPT)) as model,
        http_server(Setup(tmp_path, model.codex_overrides(), ["--tokens", str(tokens)])) as server,
        crowd(server.port, TOKENS) as visitors,
        asyncio.TaskGroup() as group,
    ):
        turns = [group.create_task(run_one(visitor)) for visitor in visitors]
        await model.wait_for_gate("all", len(visitors))
        model.release("all")
        results = await asyncio.gather(*turns)
    lines = parsed(server.log)
    for visitor, result in zip(visitors, results, strict=True):
        thread = result["structuredContent"]["threadId"]
        about_it = [line for line in lines if line["thread"] == thread]
        starts = [line["message"].split()[0] for line in about_it]
        assert (starts.count("asked:"), starts.count("answered:"), starts.count("turn")) == (1, 1, 2)
        expected = session_in_log(visitor)
        for line in about_it:
            assert (line["principal"], line["request"]) == (visitor.mark[1:4], str(SAME_ID)), line
            assert line["session"] == expected if expected else re.fullmatch("[0-9a-f]{12}", line["session"]), line
    for line in lines:
        if line["message"].startswith("call of"):
            assert all((line["session"], line["principal"], line["request"])), line
        if line["message"].startswith("core "):
            assert not any((line["session"], line["principal"], line["request"], line["thread"])), line
    for visitor in visitors:
        if isinstance(visitor, McpVisitor):
            assert visitor.session.headers[SESSION] not in server.log


async def test_the_log_says_how_a_turn_and_its_call_ended(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        failed = await server.run("codex", {"prompt": "[[scene: fail]]"})
        why = re.escape(failed["structuredContent"]["content"])
        cancelled = server.call("codex", {"prompt": "[[scene: gate]]"})
        await model.wait_for_gate("gate")
        server.cancel(cancelled)
        await server.answer(cancelled)
    messages = [line["message"] for line in parsed(server.log)]
    assert any(re.fullmatch(rf"turn \S+ failed after [\d.]+ s: {why}", message) for message in messages)
    assert any(re.fullmatch(r"turn \S+ interrupted after [\d.]+ s", message) for message in messages)
    assert [message for message in messages if message.startswith("call of codex ended")] == [
        "call of codex ended: failed",
        "call of codex ended: interrupted",
    ]
