"""A team in this process, on the real Codex with a scripted model, and a state folder in memory or on disk."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.mcp.schema.team_results import describe_question
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.state.contract import Store
from codex_mcp.team.mail.claude_session import NO_SESSION, ClaudeSession
from codex_mcp.team.mail.team_mail import MailPlace
from codex_mcp.team.resuming import ResumeFirst
from codex_mcp.team.roster import Member
from codex_mcp.team.starting import AgentOrder
from codex_mcp.team.team import Team, TeamSetup
from codex_mcp.team.work import Assignment
from codex_mcp.threads.record import Outcome
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR
from tests.support.settings import make_settings
from tests.support.state.memory import MemoryStore, World


class LocalTeam:
    """A team, its model, and what tests do with them."""

    def __init__(self, team: Team, model: ScriptedModel, folder: Path, threads: Threads) -> None:
        self.team = team
        self.threads = threads
        self.model = model
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)

    def order(self, identity: str | None = None, **fields: Any) -> AgentOrder:
        """An agent to start."""
        fields = {"principal": "local", "default_identity": "codex", **fields}
        return AgentOrder(spec=ThreadSpec(cwd=str(self.work)), identity=identity, **fields)

    async def start(self, identity: str | None = None, **fields: Any) -> Member:
        """A new agent, without a turn."""
        async with self.team.starting.start(self.order(identity, **fields)) as member:
            return member

    async def find(self, reference: str, principal: str = "local", *, resume: bool = False) -> Member:
        """The agent, ready for a turn, without one."""
        async with self.team.resuming.find(reference, principal, resume=resume) as member:
            return member

    async def submit(self, member: Member, prompt: str) -> Turn:
        """Give it a turn."""
        task = Assignment(TurnSpec(prompt), Watcher(), full_events=False, purpose="test")
        return await self.team.work.submit(member, task)

    async def ask(self, member: Member, prompt: str) -> Outcome:
        """Give it a turn, and wait for its outcome."""
        turn = await self.submit(member, prompt)
        outcome = await turn.wait(PATIENCE)
        assert turn.ended
        turn.mark_delivered()
        return outcome


@contextlib.asynccontextmanager
async def local_team(
    folder: Path,
    world: World | None = None,
    resume: ResumeFirst | None = None,
    *,
    script: Path = TOUR,
    claude: ClaudeSession = NO_SESSION,
    **settings: Any,
) -> AsyncIterator[LocalTeam]:
    """A team with a store of its own, or with one that it shares with others."""
    shared = World() if world is None else world

    async def open_store() -> Store:
        return MemoryStore(shared)

    chosen = make_settings(codex_home=str(folder / "home"), state_dir=str(folder / "state"), **settings)
    async with scripted_threads(folder, script=script, **settings) as (threads, model):
        mail = MailPlace(str(folder / "teams"), claude)
        team = Team(chosen.team, threads, TeamSetup(open_store, describe_question, mail, resume))
        try:
            yield LocalTeam(team, model, folder, threads)
        finally:
            await team.aclose()
