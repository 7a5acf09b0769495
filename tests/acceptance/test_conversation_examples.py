"""Every example of docs/conversations.md works as the page says: its result has the fields and types that are shown."""

import json
import re
import subprocess
from pathlib import Path

from codex_mcp.mcp.method_rows import Home, answered_by
from tests.acceptance.recordings.exchange import serve
from tests.support.servers.conversations import login_port
from tests.support.servers.mcp_server import Json, McpServer

PAGE = Path(__file__).parents[2] / "docs/conversations.md"
EXAMPLE = re.compile(r"^### `(\w+)`\n.*?^```json\n(.*?)^```\n\n```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"[A-Z]{5,}")
"""Values that the reader must provide."""


def examples() -> list[tuple[str, str, Json]]:
    """Method, request and result, in the order of the page."""
    return [(method, request, json.loads(result)) for method, request, result in EXAMPLE.findall(PAGE.read_text())]


def test_the_page_has_an_example_of_every_method() -> None:
    assert sorted(method for method, _, _ in examples()) == sorted(answered_by(Home.CONVERSATIONS))
    assert all(json.loads(request)["method"] == method for method, request, _ in examples())


def make_repository(folder: Path, remote: Path) -> None:
    (folder / "README.md").write_text("Read me.\n")
    for words in (
        ["init", "--bare", str(remote)],
        ["init", "-b", "main"],
        ["add", "."],
        ["commit", "-m", "first"],
        ["remote", "add", "origin", str(remote)],
        ["push", "origin", "main"],
    ):
        argv = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)


def check_shape(shown: object, got: object, where: str) -> None:
    """Every field that is shown is there with a value of its type, and no other; longer lists have more of the same."""
    assert type(shown) is type(got), (where, got)
    if isinstance(shown, dict) and isinstance(got, dict):
        if "type" not in shown:  # the fields of an event are described elsewhere
            assert got.keys() - {"gitInfo"} == shown.keys(), where
        for key in shown:
            check_shape(shown[key], got[key], f"{where}.{key}")
    elif isinstance(shown, list) and isinstance(got, list):
        assert bool(shown) is bool(got), where
        for one, other in zip(shown, got, strict=False):
            check_shape(one, other, where)


def learn(values: dict[str, str], shown: Json, got: Json) -> None:
    """Take note of the values that later examples need."""
    values |= {text: got[key] for key, text in shown.items() if isinstance(text, str) and NAMED.fullmatch(text)}


async def turns_over(server: McpServer, count: int) -> None:
    done = "codex/event/task_complete"
    await server.until(lambda: [message.get("method") for message in server.messages].count(done) >= count)


async def test_every_example_gives_the_result_that_is_shown(tmp_path: Path) -> None:
    async with login_port(), serve(tmp_path) as (server, _model):
        await server.initialize()
        make_repository(server.setup.work, tmp_path / "remote.git")
        values = {"/project": str(server.setup.work)}
        turns = 0
        for method, request, shown in examples():
            for name, value in values.items():
                request = request.replace(f'"{name}"', json.dumps(value))
            asked = json.loads(request)
            result = await server.result(server.request(method, asked.get("params")))
            check_shape(shown, result, method)
            learn(values, shown, result)
            if method.startswith("sendUser"):
                turns += 1
                await turns_over(server, turns)
