"""Every example of docs/prompts-and-resources.md, run on a server."""

import re
from pathlib import Path

import msgspec

from tests.support.servers.mcp_server import Json, scripted_server

PAGE = (Path(__file__).parents[2] / "docs/prompts-and-resources.md").read_text()
EXAMPLE = re.compile(r"^```json\n(.*?)^```\n+```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^```markdown\n(.*?)^```", re.MULTILINE | re.DOTALL)
THREAD = "01a1e831-dce0-70c0-9750-9b26e0022257"
"""The thread of the examples."""

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"

METHODS = (
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "completion/complete",
    "logging/setLevel",
)


def examples() -> dict[str, tuple[str, str]]:
    """The request and the answer of each method, as JSON."""
    return {msgspec.json.decode(request)["method"]: (request, answer) for request, answer in EXAMPLE.findall(PAGE)}


def fits(expected: object, found: object) -> bool:
    """Whether an answer is as shown. It may have more fields, and … stands for any text."""
    match expected, found:
        case dict(), dict():
            return all(key in found and fits(value, found[key]) for key, value in expected.items())
        case list(), list():
            return len(expected) == len(found) and all(map(fits, expected, found))
        case str(), str():
            return re.fullmatch(re.escape(expected).replace("…", ".*"), found, re.DOTALL) is not None
    return expected == found


def test_every_method_has_an_example() -> None:
    assert sorted(examples()) == sorted(METHODS)


async def test_every_example_is_true(tmp_path: Path) -> None:
    (prompt,) = PROMPT.findall(PAGE)
    prompts = tmp_path / "home/.codex/prompts"
    prompts.mkdir(parents=True)
    (prompts / "review.md").write_text(prompt)
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        done = await server.run("codex", {"prompt": "[[scene: patch]]", "sandbox": "workspace-write"})
        thread = done["structuredContent"]["threadId"]
        for method, texts in examples().items():
            request, expected = (msgspec.json.decode(text.replace(THREAD, thread), type=Json) for text in texts)
            sent = server.request(method, request["params"])
            if method == "subscriptions/listen":
                found = await server.wait_for(lambda message: message.get("method") == ACKNOWLEDGED)
            else:
                found = await server.result(sent)
            assert fits(expected, found), found
