"""What `codex-mcp serve` answers to: the product, with a team."""

from __future__ import annotations

from collections.abc import Mapping

from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Protocol
from codex_mcp.mcp.methods import PRODUCT, Around, Methods, listing
from codex_mcp.mcp.schema.team_catalogue import TEAM_INSTRUCTIONS, TEAM_TOOLS
from codex_mcp.mcp.schema.team_results import describe_question
from codex_mcp.mcp.tools.product import CAPABILITIES, MakeProduct, Product
from codex_mcp.mcp.tools.tasks import Tasks
from codex_mcp.mcp.tools.team_tools import TeamTools
from codex_mcp.team.closing import LONGEST_GRACE
from codex_mcp.team.profile.roles import Role
from codex_mcp.team.records.store_session import OpenStore
from codex_mcp.team.resuming import Resume
from codex_mcp.team.team import Team, TeamSetup
from codex_mcp.threads.threads import Threads


def team_product(
    roles: Mapping[str, Role], open_store: OpenStore, resume: Resume | None = None, around: Around | None = None
) -> MakeProduct:
    """What makes the product of a team whose state lies in this store."""

    def make(threads: Threads, settings: Settings, key: bytes) -> Product:
        team = Team(settings.team, threads, TeamSetup(open_store, describe_question, resume))
        tools = TeamTools(threads, settings, key, team, roles)
        tasks = Tasks(threads, settings.calls, key, tools.says)
        table = {**PRODUCT, "tools/list": listing(TEAM_TOOLS), **tasks.table()}
        stateless = settings.calls.protocol is not Protocol.LEGACY
        methods = Methods(table, CAPABILITIES, stateless, around, TEAM_INSTRUCTIONS)
        return Product(methods, tools.tools(), team.aclose, LONGEST_GRACE)

    return make
