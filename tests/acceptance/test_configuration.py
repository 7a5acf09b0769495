"""The real Codex takes what we lay over its configuration, in our order, and calls nobody but its model."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codex_mcp.codex.config.command_line import visible_overrides
from codex_mcp.codex.config.overrides import (
    CoreConfig,
    ThreadConfig,
    core_config,
    flattened,
    merged,
    parse_overrides,
    thread_config,
)
from codex_mcp.codex.config.profiles import read_profile, read_user_config
from codex_mcp.scripted_model.load import packaged_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.core.app_server import AppServer, Json
from tests.support.patience import PATIENCE

CUSTOM_MODEL = (
    "model=m",
    'model_providers.nobody={name="nobody", base_url="http://127.0.0.1:9/v1"}',
    "model_provider=nobody",
)
"""A model that is never asked anything in these tests."""


class Codex:
    """A core that was started with the user's overrides and config.toml."""

    def __init__(self, server: AppServer, core: CoreConfig, folder: Path) -> None:
        self.server = server
        self.core = core
        self.folder = folder

    async def thread(self, *layers: Json, policy: str | None = None) -> Json:
        """Start a thread as a call with these layers would; returns what Codex says of it."""
        given = thread_config(layers, approval_policy=policy, core_policy=self.core.approval_policy)
        return await self.server.request("thread/start", self.params(given))

    def params(self, given: ThreadConfig) -> Json:
        config = flattened(merged(self.core.overrides, given.config))
        params: Json = {"cwd": str(self.folder), "config": config}
        return params if given.approval_policy is None else params | {"approvalPolicy": given.approval_policy}


@asynccontextmanager
async def codex(folder: Path, config: str = "", overrides: Sequence[str] = ()) -> AsyncIterator[Codex]:
    home = folder / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(config)
    core = core_config([*CUSTOM_MODEL, *overrides], read_user_config(str(home)))
    async with AppServer(folder, visible_overrides(core.overrides)) as server:
        yield Codex(server, core, folder)


@pytest.mark.parametrize(
    ("config", "overrides"),
    [
        ('approval_policy = "untrusted"', []),
        ("", ["approval_policy=untrusted"]),
        ('approval_policy = "never"', ['approval_policy="untrusted"']),
    ],
)
async def test_codex_starts_with_untrusted_wherever_it_was_said_and_its_threads_have_it(
    tmp_path: Path, config: str, overrides: list[str]
) -> None:
    async with codex(tmp_path, config, overrides) as on:
        assert (await on.thread())["approvalPolicy"] == "untrusted"
        assert (await on.thread(policy="never"))["approvalPolicy"] == "never"
        assert (await on.thread({"approval_policy": "on-failure"}))["approvalPolicy"] == "on-request"


async def test_a_call_may_ask_for_every_old_policy_in_its_config(tmp_path: Path) -> None:
    async with codex(tmp_path, 'approval_policy = "never"') as on:
        assert (await on.thread())["approvalPolicy"] == "never"
        assert (await on.thread({"approval_policy": "untrusted"}))["approvalPolicy"] == "untrusted"
        assert (await on.thread({"approval_policy": "on-failure"}))["approvalPolicy"] == "on-request"


async def test_a_call_adds_to_the_tables_of_the_layers_below_it(tmp_path: Path) -> None:
    config = 'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["/opt"]'
    async with codex(tmp_path, config, ["sandbox_workspace_write.exclude_slash_tmp=true"]) as on:
        sandbox = (await on.thread({"sandbox_workspace_write": {"network_access": True}}))["sandbox"]
    assert sandbox == {
        "type": "workspaceWrite",
        "writableRoots": ["/opt"],
        "networkAccess": True,
        "excludeTmpdirEnvVar": False,
        "excludeSlashTmp": True,
    }


async def test_profiles_lie_where_codex_itself_used_to_have_them(tmp_path: Path) -> None:
    config = 'model = "base"\n[profiles.old]\nmodel = "legacy"\nmodel_reasoning_effort = "low"\n'
    async with codex(tmp_path, config, ["profile=new", "model=server"]) as on:
        home = str(tmp_path / ".codex")
        (tmp_path / ".codex" / "new.config.toml").write_text('model = "own"\nmodel_reasoning_effort = "high"\n')
        assert on.core.profile == "new"
        server = [read_profile(home, on.core.profile), parse_overrides(["model=server"])]
        seen = [
            await on.thread(*server),
            await on.thread(*server, read_profile(home, "old")),
            await on.thread(*server, read_profile(home, "old"), {"model": "call"}),
        ]
    assert [(thread["model"], thread["reasoningEffort"]) for thread in seen] == [
        ("server", "high"),
        ("legacy", "low"),
        ("call", "low"),
    ]


@asynccontextmanager
async def proxy() -> AsyncIterator[tuple[dict[str, str], asyncio.Queue[str]]]:
    """The environment that sends every outbound call to us, and who was to be called."""
    called: asyncio.Queue[str] = asyncio.Queue()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.put_nowait((await reader.readline()).decode().strip())
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        names = ("http_proxy", "https_proxy", "all_proxy")
        yield {**{name: address for low in names for name in (low, low.upper())}, "no_proxy": "127.0.0.1"}, called


async def test_codex_calls_nobody_but_its_model(tmp_path: Path) -> None:
    async with proxy() as (environment, called), ScriptedModel(packaged_script("tour")) as model:
        # The scripted model switches them off as well; here it is to be seen that a core has them off anyway.
        which = [text for text in model.codex_overrides() if text.startswith("model")]
        overrides = visible_overrides(core_config(which, None).overrides)
        async with AppServer(tmp_path, overrides, environment) as server:
            turn = await server.run_turn(await server.start_thread(cwd=str(tmp_path)), "[[scene: say]]")
        assert turn.status == "completed"
        assert called.empty()


async def test_codex_would_call_others_if_the_user_wanted_plugins(tmp_path: Path) -> None:
    """The control of the test before: it would notice."""
    async with proxy() as (environment, called):
        overrides = visible_overrides(core_config([*CUSTOM_MODEL, "features.plugins=true"], None).overrides)
        async with AppServer(tmp_path, overrides, environment) as server:
            await server.start_thread(cwd=str(tmp_path))
            async with asyncio.timeout(PATIENCE):
                assert (await called.get()).startswith("CONNECT ")
