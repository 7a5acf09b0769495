"""The commands that the documents print, taken from the documents: each runs with only its placeholders filled in."""

import re
import shlex
from pathlib import Path

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.test_exec_server_document import INITIALIZE, INITIALIZED, START, TERMINATE, WRITE
from tests.acceptance.test_http_recipes import ask, curl, open_stream
from tests.support.clauses import text_of
from tests.support.http.client import connect
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import SESSION, call, initialize
from tests.support.servers.mcp_server import TOUR, Json, Setup
from tests.support.sessions.scene import session_server

PORT = 3333
"""In the document."""


def printed(document: str, beginning: str) -> list[list[str]]:
    """The words of each command that a document prints between backquotes."""
    return [shlex.split(text) for text in re.findall(r"`([^`\n]+)`", text_of(document)) if text.startswith(beginning)]


class Recipe:
    """A command line of curl: what it sends to which path."""

    def __init__(self, words: list[str]) -> None:
        self.headers: list[str] = []
        self.method, self.data, self.url = "GET", "", ""
        rest = iter(words[1:])
        for word in rest:
            match word:
                case "-N":
                    pass  # curl's own buffer
                case "-X":
                    self.method = next(rest)
                case "-H":
                    self.headers.append(next(rest))
                case "-d":
                    self.data = next(rest)
                case _:
                    self.url = word
        assert self.url.startswith(f"http://127.0.0.1:{PORT}/")

    def sent(self, port: int, session: str = "", data: bytes = b"", *more: str) -> bytes:
        """What curl sends, with the placeholders filled in."""
        headers = [header.replace("<id>", session) for header in self.headers]
        path = self.url.removeprefix(f"http://127.0.0.1:{PORT}")
        return curl(port, *headers, *more, path=path, method=self.method, data=data)


async def test_the_recipes_of_the_multi_session_document_run_as_they_are_printed(tmp_path: Path) -> None:
    served = printed("multi_session", "codex mcp-server --host")
    assert served == [["codex", "mcp-server", "--host", "127.0.0.1", "--port", str(PORT)]]
    listen, send, stream = map(Recipe, printed("multi_session", "curl"))
    assert msgspec.json.decode(send.data.replace("{...}", "{}").encode())["method"] == "initialize"
    async with ScriptedModel(load_script(TOUR)) as model:
        flags = served[0][2:4]  # and its own free port
        async with http_server(Setup(tmp_path, model.codex_overrides(), flags)) as server:
            async with open_stream(server.port, listen.sent(server.port)) as events, connect(server.port) as wire:
                session = events.headers[SESSION]
                first = send.sent(server.port, session, msgspec.json.encode({**initialize(), "id": 1}))
                answer = await ask(wire, first)
                assert (answer.status, answer.headers[SESSION]) == (200, session)
                greeting: Json = msgspec.json.decode(answer.body)
                assert greeting["result"]["serverInfo"]["name"] == "codex-mcp-server"
                assert await events.message() == greeting
                turn = msgspec.json.encode(call(2, "codex", {"prompt": '[[scene: say text="one"]]'}))
                answer = await ask(wire, stream.sent(server.port, session, turn))
                assert answer.headers["content-type"] == "application/json", "Accept alone streams nothing"
                assert msgspec.json.decode(answer.body)["id"] == 2
            gated = stream.sent(server.port, session, turn, "X-MCP-POST-STREAM: 1")
            async with open_stream(server.port, gated) as events:
                assert (await events.rest())[-1]["id"] == 2


def as_call(words: list[str]) -> tuple[str, Json]:
    """A line of the session guide as a call of a tool: flags are arguments, and the last word is the prompt."""
    tool, *rest = words
    if not rest:
        return tool, {}
    flags = dict(zip(rest[:-1:2], rest[1:-1:2], strict=True))
    values = {name.removeprefix("--"): value == "true" if value == "true" else value for name, value in flags.items()}
    return tool, {**values, "prompt": rest[-1]}


async def test_the_usage_patterns_of_the_session_guide_run_as_they_are_printed(tmp_path: Path) -> None:
    blocks = re.findall(r"^```bash\n(.*?)^```", text_of("named_sessions"), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines() if shlex.split(line, comments=True)]
    calls = [as_call(shlex.split(line, comments=True)) for line in lines]
    assert [tool for tool, _ in calls] == ["codex"] * 4 + ["listSessions"]
    async with session_server(tmp_path) as (server, _model):
        results = [await server.run(tool, arguments) for tool, arguments in calls]
        assert [result.get("isError", False) for result in results] == [False] * len(calls)
        sessions = [result["structuredContent"].get("session") for result in results[:4]]
        assert [each and (each["id"], each["resumed"]) for each in sessions] == [
            ("auth-review", "new"),
            ("auth-review", "reset"),
            None,
            ("deep-dive", "new"),
        ]
        listed = msgspec.json.decode(results[4]["content"][0]["text"])
        assert [each["id"] for each in listed] == ["deep-dive", "auth-review"]


def test_the_example_session_is_that_of_the_document() -> None:
    document = text_of("exec_server")
    for message in (INITIALIZE, INITIALIZED, START, WRITE, TERMINATE):
        assert message in document


def test_the_frames_of_the_document_are_in_the_schema() -> None:
    block = re.search(r"^version\n(.*?)^\nstream_id identifies", text_of("exec_server"), re.M | re.S)
    assert block is not None
    names = {"version", *(line.split()[0] for line in block[1].splitlines() if line.strip())} - {"body"}
    schema = (Path(__file__).parents[2] / "src/codex_mcp/relay/codex.exec_server.relay.v1.proto").read_text()
    assert {name for name in names if not re.search(rf"\b{name} = \d+;", schema)} == set()
