"""Worktrees through any life: no commit and no uncommitted change is ever lost, and git keeps no stale entry.

Agents work, commit, rename branches and leave files behind; folders are removed and branches checked out by others; the
server is killed at any step of any operation.
"""

import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from codex_mcp.git.agent_files import told_in
from codex_mcp.git.making import WantedWorktree, make
from codex_mcp.git.publishing import publish
from codex_mcp.git.records import all_records, delete_record
from codex_mcp.git.removing import close, open_again
from codex_mcp.git.worktree import Worktree, WorktreeState
from tests.support.killed import killed_at
from tests.support.repositories import agents_commit, agents_git, git, registrations, repository

AGENTS = ("arch", "arch-2")
"""The branch that the first one would get next is the name of the second."""

WORKS = ("commit", "detach", "detach", "return", "leave", "edit", "save", "save", "rename", "end turn", "end turn")
OTHERS = ("remove", "checkout", "main", "merge")
SERVER = ("start", "start", "close", "close", "die", "prune")


class Lives(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="codex-mcp-worktrees-"))
        self.checkout = repository(self.folder / "repo")
        self.state_dir = str(self.folder / "state")
        self.commits: set[str] = set()
        self.unsaved: dict[str, dict[str, str]] = {}
        """Uncommitted files of each agent."""
        self.running: set[str] = set()
        self.count = 0
        self.starts_or_resumes(AGENTS[0], None)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            try:
                self.prune()
                self.nothing_is_lost()
            finally:
                shutil.rmtree(self.folder)

    def record(self, agent: str) -> Worktree | None:
        return next((each for each in all_records(self.state_dir) if each.identity == agent), None)

    def worktree(self, agent: str) -> Path | None:
        """The folder of an agent that runs and whose folder is there."""
        record = self.record(agent) if agent in self.running else None
        return None if record is None or not os.path.isdir(record.path) else Path(record.path)

    def asked(self, agent: str) -> WantedWorktree:
        return WantedWorktree(f"codex:{AGENTS.index(agent):06d}", agent, str(self.checkout), self.state_dir)

    def number(self) -> int:
        self.count += 1
        return self.count

    # One rule for everything: with many, most examples would leave most of them out.
    @rule(
        agent=st.sampled_from(AGENTS),
        act=st.sampled_from(WORKS + OTHERS + SERVER),
        deadly=st.none() | st.integers(0, 16),
    )
    def anything_happens(self, agent: str, act: str, deadly: int | None) -> None:
        if act == "end turn":
            if agent in self.running:
                self.committed(agent)
        elif act in WORKS:
            self.agent_works(agent, act)
        elif act in OTHERS:
            self.another_program_acts(agent, act)
        elif act == "start":
            self.starts_or_resumes(agent, deadly)
        elif act == "close":
            self.closes(agent, deadly)
        elif act == "die":
            self.running.clear()
        else:
            self.prune()

    def starts_or_resumes(self, agent: str, deadly: int | None) -> None:
        if agent in self.running:
            return
        record = self.record(agent)
        act = partial(make, self.asked(agent)) if record is None else partial(open_again, record)
        if deadly is not None:
            killed_at(deadly, act)
            return
        made = act()
        assert made.worktree.state is WorktreeState.READY
        for run in (git, agents_git):
            assert run(made.worktree.path, "rev-parse", "--show-toplevel") == made.worktree.path
        self.running.add(agent)

    def agent_works(self, agent: str, act: str) -> None:
        folder, record = self.worktree(agent), self.record(agent)
        if folder is None or record is None:
            return
        name, text = f"{agent}-{self.number()}", f"{self.count}\n"
        match act:
            case "commit":
                self.commits.add(agents_commit(folder, name, text))
            case "detach":  # the commit is on no branch
                agents_git(folder, "checkout", "-q", "--detach")
                self.commits.add(agents_commit(folder, name, text))
            case "return":
                agents_git(folder, "checkout", "-q", "-", check=False)
            case "leave" | "edit":
                name = "a" if act == "edit" else name
                (folder / name).write_text(text)
                self.unsaved.setdefault(agent, {})[name] = text
            case "save" if self.unsaved.get(agent):
                agents_git(folder, "add", "-A")
                agents_git(folder, "commit", "-qm", "all")
                self.commits.add(agents_git(folder, "rev-parse", "HEAD"))
                self.unsaved.pop(agent)
            case "rename" if agents_git(folder, "symbolic-ref", "-q", "HEAD", check=False):
                agents_git(folder, "branch", "-m", f"renamed-{self.number()}")

    def committed(self, agent: str) -> None:
        """The turn of an agent has ended."""
        record = self.record(agent)
        if record is not None:
            publish(record)

    def another_program_acts(self, agent: str, act: str) -> None:
        record = self.record(agent)
        if record is None:
            return
        match act:
            case "remove":
                shutil.rmtree(record.path, ignore_errors=True)  # and nothing of what we have beside it
                self.unsaved.pop(agent, None)  # it is that program that has lost them
            case "checkout":
                git(self.checkout, "checkout", "-q", record.branch, check=False)
            case "main":
                git(self.checkout, "checkout", "-q", "main")
            case "merge" if record.state is WorktreeState.REMOVED:
                git(self.checkout, "merge", "-q", "--no-edit", record.branch, check=False)
                git(self.checkout, "branch", "-d", record.branch, check=False)

    def closes(self, agent: str, deadly: int | None) -> None:
        record = self.record(agent)
        if agent not in self.running or record is None:
            return
        self.running.discard(agent)
        if deadly is not None:
            killed_at(deadly, lambda: close(record))
            return
        left = close(record)
        assert (left.why is not None) == bool(self.unsaved.get(agent)), left
        assert (left.why is None) == (not os.path.exists(record.path))

    def prune(self) -> None:
        """As `codex-mcp threads --prune` does with the worktrees of agents that no server runs."""
        for record in all_records(self.state_dir):
            if record.identity not in self.running:
                left = close(record)
                if left.worktree.state is WorktreeState.REMOVED:
                    delete_record(left.worktree)
        for agent in set(AGENTS) - self.running:
            assert (self.record(agent) is not None) == bool(self.unsaved.get(agent)), agent
        assert list(registrations(self.checkout)) == [str(self.checkout)]
        kept = {os.path.basename(record.folder) for record in all_records(self.state_dir)}
        folders = {entry.name for entry in os.scandir(os.path.join(self.state_dir, ".worktrees")) if entry.is_dir()}
        assert folders <= kept

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "folder"):
            return
        reachable = set(git(self.checkout, "rev-list", "--all").split())
        for each in all_records(self.state_dir):
            if os.path.isdir(each.own_git) and each.state is WorktreeState.READY:
                told = told_in(each.own_git)
                ids = [*told.refs.values(), *told.visited, *([told.commit] if told.commit else [])]
                places = (f"--git-dir={each.own_git}", f"--work-tree={self.checkout}")
                own = git(self.checkout, *places, "rev-list", "--ignore-missing", *ids)
                reachable |= set(own.split())
        assert self.commits <= reachable
        for agent, files in self.unsaved.items():
            record = self.record(agent)
            assert record is not None
            assert {name: (Path(record.path) / name).read_text() for name in files} == files


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=40, stateful_step_count=18, phases=[Phase.generate])
# Not shrunk: with real repositories that takes minutes, and the steps that failed are few.
