"""The examples of docs/providers.md and docs/proxies.md, with a scripted model in the place of the provider."""

import json
import re
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import TOUR, McpServer, Setup
from tests.test_docs import FENCE, ROOT

PAGES = ("providers", "signing-in")
EXAMPLES = [
    example
    for page in PAGES
    for language, example in FENCE.findall((ROOT / f"docs/{page}.md").read_text())
    if language == "toml" and "[model_providers." in example
]
ADDRESS = re.compile(r'(?<=base_url = ")[^"]+')


async def answer(setup: Setup, config: str) -> str:
    """What an agent of a server with this configuration says."""
    setup.make()
    (setup.codex_home / "config.toml").write_text(config)
    async with McpServer(setup) as server:
        await server.initialize()
        result = await server.run("codex", {"prompt": '[[scene: say text="here I am"]]'})
    return str(result["structuredContent"]["content"])


@pytest.mark.parametrize("example", EXAMPLES, ids=re.compile(r'model_provider = "(.+)"').findall("".join(EXAMPLES)))
async def test_an_agent_answers_with_the_provider_of_an_example(tmp_path: Path, example: str) -> None:
    keys = dict.fromkeys(re.findall(r'env_key = "(\w+)"', example), "sk-of-the-provider")
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, environment=keys)
        assert await answer(setup, ADDRESS.sub(model.base_url, example)) == "here I am"
        assert model.requests


async def test_codex_reaches_the_provider_through_the_proxy_of_the_environment(tmp_path: Path) -> None:
    """The model plays the proxy: it is asked for an address that does not exist."""
    example = ADDRESS.sub("http://model.invalid/v1", EXAMPLES[0])
    entries = [
        json.loads(text) for kind, text in FENCE.findall((ROOT / "docs/proxies.md").read_text()) if kind == "json"
    ]
    (variables,) = [entry["mcpServers"]["codex"]["env"] for entry in entries]
    assert variables.keys() == {"HTTPS_PROXY", "NO_PROXY"}
    async with ScriptedModel(load_script(TOUR)) as model:
        proxy = model.base_url.removesuffix("/v1")
        setup = Setup(tmp_path, environment={"HTTP_PROXY": proxy, "NO_PROXY": variables["NO_PROXY"]})
        assert await answer(setup, example) == "here I am"
        assert model.requests
