"""What the product says that it can do, it does."""

from pathlib import Path

import pytest

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.settings.kinds import Protocol
from codex_mcp.mcp.schema.team_catalogue import TEAM_INSTRUCTIONS
from codex_mcp.mcp.tools.product import plain_product, team_product
from codex_mcp.state.contract import Store
from codex_mcp.team.mail.team_mail import MailPlace
from codex_mcp.threads.threads import Threads
from tests.support.servers.mcp_session import no_codex, no_hurry
from tests.support.settings import make_settings
from tests.support.state.memory import MemoryStore, World


@pytest.mark.parametrize(("protocol", "stateless"), [(Protocol.BOTH, True), (Protocol.LEGACY, False)])
async def test_tasks_belong_to_it_and_the_newer_era_can_be_turned_off(
    tmp_path: Path, protocol: Protocol, *, stateless: bool
) -> None:
    settings = make_settings(codex_home=str(tmp_path), protocol=protocol)
    methods = plain_product(
        Threads(settings.core, settings.calls, no_codex, no_hurry), settings, bytes(KEY_BYTES)
    ).methods
    assert {"tools/call", "server/discover", "tasks/get", "tasks/update", "tasks/cancel"} <= methods.table.keys()
    assert methods.stateless is stateless


async def test_a_team_answers_to_all_methods_and_ends_although_nobody_came(tmp_path: Path) -> None:
    async def open_store() -> Store:
        return MemoryStore(World())

    settings = make_settings(codex_home=str(tmp_path), state_dir=str(tmp_path / "state"))
    product = team_product({}, open_store, MailPlace("/nowhere"))(
        Threads(settings.core, settings.calls, no_codex, no_hurry), settings, bytes(KEY_BYTES)
    )
    assert {"tools/list", "tools/call", "tasks/get"} <= product.methods.table.keys()
    assert product.methods.instructions == TEAM_INSTRUCTIONS
    assert product.longest_grace <= 5  # agents must be asked for summaries within ten seconds of a signal
    await product.aclose()
