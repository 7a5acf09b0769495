"""The product: its methods and tools, without a team (`codex-mcp mcp-server`) and with one (`codex-mcp serve`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.environments import LOCAL_ENVIRONMENT
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Protocol, Surface
from codex_mcp.mcp.features import table as features
from codex_mcp.mcp.methods import EXTENSIONS, PRODUCT, Around, Handler, Methods, listing
from codex_mcp.mcp.schema.catalogue import TOOLS, Tool, with_environments
from codex_mcp.mcp.session import ToolBox
from codex_mcp.mcp.tools.codex_tools import CodexTools
from codex_mcp.mcp.tools.conversation_methods import ConversationTable
from codex_mcp.mcp.tools.tasks import Tasks
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import mcp

if TYPE_CHECKING:
    from codex_mcp.access.cluster import Cluster
    from codex_mcp.mcp.control.late import LateDoor
    from codex_mcp.mcp.pages import Pages
    from codex_mcp.mcp.tools.team_tools import TeamTools
    from codex_mcp.team.mail.team_mail import MailPlace
    from codex_mcp.team.profile.roles import Role
    from codex_mcp.team.records.store_session import OpenStore
    from codex_mcp.team.resuming import ResumeFirst
    from codex_mcp.team.team import TeamMeasure

CAPABILITIES: Final[dict[str, object]] = {"tools": {}, **features.CAPABILITIES, EXTENSIONS: {mcp.TASKS_EXTENSION: {}}}


NO_TEAM: Final = "mcp-server has no team tools: start `codex-mcp serve`, or choose --tools codex, sessions or all"


async def _nothing() -> None:
    pass


class Product(Struct, frozen=True):
    methods: Methods
    tools: ToolBox
    aclose: Callable[[], Coroutine[Any, Any, None]] = _nothing
    """Called at the end, while the core still runs; cancelled by a further signal."""
    refused: Callable[[str], None] | None = None
    """Told why a connection was refused, to record it."""
    longest_grace: float = math.inf
    """Upper limit of `shutdown_grace`, in seconds."""
    measure: Callable[[], TeamMeasure] | None = None
    """What a team's agents do, for the metrics."""
    pages: Pages | None = None
    """Its dashboard."""
    cluster: tuple[bytes, LateDoor] | None = None
    """The key of its cluster, and where other servers of it are served."""
    join: Callable[[], None] | None = None
    """Begin to join the state folder, before a client has called: then people find its pages."""


class Outside(Struct, frozen=True):
    """What a server with a team gets from the program around it."""

    around: Around | None = None
    """Around every request."""
    pages: Pages | None = None
    """Its dashboard."""
    cluster: Cluster | None = None
    """That it belongs to."""


ALONE: Final = Outside()

MakeProduct: TypeAlias = Callable[[Threads, Settings, bytes], Product]
"""Makes a product; the key seals what clients carry for us."""


def _table(
    threads: Threads, settings: Settings, tasks: Tasks, late: features.LateFeatures, *, has_team: bool
) -> dict[str, Handler]:
    conversations = ConversationTable(threads, settings, has_team=has_team)
    return {**PRODUCT, **late.table(), **tasks.table(), **conversations.table()}


def plain_product(threads: Threads, settings: Settings, key: bytes, around: Around | None = None) -> Product:
    listed = _plain_tools(settings.sessions.tools)
    tools = CodexTools(threads, settings, key, listed)
    late = features.LateFeatures(threads, settings)
    tasks = Tasks(threads, settings.calls, key, tools.follower)
    shown = listing(_listed(listed, settings))
    table = _table(threads, settings, tasks, late, has_team=False) | {"tools/list": shown}
    stateless = settings.calls.protocol is not Protocol.LEGACY
    methods = Methods(table, CAPABILITIES, stateless, around, logged=late.logged)
    return Product(methods, tools.tools(), tools.aclose)


def _listed(tools: Sequence[Tool], settings: Settings) -> Sequence[Tool]:
    names = settings.core.environments
    return with_environments(tools, (*names, LOCAL_ENVIRONMENT)) if names else tools


def _plain_tools(surface: Surface | None) -> Sequence[Tool]:
    match surface:
        case None | Surface.CODEX:
            return TOOLS
        case Surface.TEAM:
            raise Refused(NO_TEAM)
        case _:
            from codex_mcp.mcp.schema.session_catalogue import SESSION_TOOLS  # noqa: PLC0415  only on request

            return SESSION_TOOLS


async def _close(door: LateDoor, tools: TeamTools) -> None:
    try:
        await door.aclose()
    finally:
        await tools.aclose()


def team_product(
    roles: Mapping[str, Role],
    open_store: OpenStore,
    mail: MailPlace,
    resume: ResumeFirst | None = None,
    outside: Outside = ALONE,
) -> MakeProduct:
    # Not loaded by a server without a team, which starts faster.
    from codex_mcp.mcp.control.inside import Inside  # noqa: PLC0415
    from codex_mcp.mcp.control.late import LateDoor  # noqa: PLC0415
    from codex_mcp.mcp.schema.mail_catalogue import AGENT_TOOLS  # noqa: PLC0415
    from codex_mcp.mcp.schema.team_catalogue import team_instructions, team_tools  # noqa: PLC0415
    from codex_mcp.mcp.schema.team_results import describe_question  # noqa: PLC0415
    from codex_mcp.mcp.tools.team_tools import TeamTools  # noqa: PLC0415
    from codex_mcp.team.closing import LONGEST_GRACE  # noqa: PLC0415
    from codex_mcp.team.team import Team, TeamSetup  # noqa: PLC0415

    def make(threads: Threads, settings: Settings, key: bytes) -> Product:
        door = LateDoor(lambda: inside)
        agents = (AGENT_TOOLS, settings.calls.approval_timeout, door.joined, outside.cluster)
        team = Team(settings.team, threads, TeamSetup(open_store, describe_question, mail, resume, *agents))
        tools = TeamTools(threads, settings, key, team, roles)
        late = features.LateFeatures(threads, settings, team)
        purposes = {name: role.purpose for name, role in roles.items()}
        offered = _listed(team_tools(settings.sessions.tools, purposes), settings)
        tasks = Tasks(threads, settings.calls, key, tools.follower)
        own = _table(threads, settings, tasks, late, has_team=True) | {"tools/list": listing(offered)}
        table = own | tools.forwarding.around(own)
        stateless = settings.calls.protocol is not Protocol.LEGACY
        words = team_instructions(settings.sessions.tools)
        methods = Methods(table, CAPABILITIES, stateless, outside.around, words, late.logged)
        box = tools.tools()
        reading = {tool.name for tool in offered if tool.read_only}
        inside = Inside(methods, box, reading, settings, team, threads, outside.pages)
        close = partial(_close, door, tools)
        cluster = None if outside.cluster is None else (outside.cluster.key, door)
        served = (methods, box, close, team.note_refused, LONGEST_GRACE)
        return Product(*served, team.measured, outside.pages, cluster, team.session.open_soon)

    return make
