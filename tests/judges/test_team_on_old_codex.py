"""The team's own tests on the last Codex that had an mcp-server of its own (0.153.4, from npm), as our core.

Run here are those that need something of the core; the others would only try our own parts again. `CANNOT` counts for
all of them.
"""

import importlib
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.team.mail.test_urgent_mail import STEERS, urgent_mail_waits
from tests.support.clients.judges import ROOT, package
from tests.support.team.fixtures import Team, team
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import refusal, say, structured

__all__ = ["codex_flags", "team"]

TEAM_TESTS = ROOT / "tests/acceptance/team"

TOPICS = ("audit", "core_death", "life", "proxy", "resume", "shutdown", "status")

OURS_ALONE = ("test_killed_at_any_moment_the_registry_loads_and_tells_the_truth",)
"""Of these topics, what has nothing to do with the core."""

OTHER_THREAD = "the agent comes back in a new thread: the old one was lost with its process"
MEMORY = "the agent comes back with its summary, and without its conversation, which was lost with its process"


CANNOT = {
    "commands::test_serve_resumes_an_agent_by_any_of_its_names": OTHER_THREAD,
    "core_death::test_a_codex_that_dies_while_nobody_waits_is_followed_by_another": OTHER_THREAD,
    "registry::test_a_registry_of_version_1_is_shown_and_its_agents_can_be_resumed": OTHER_THREAD,
    "registry::test_agents_of_a_server_that_was_killed_are_stale_and_their_names_free": MEMORY,
    "registry::test_three_agents_are_three_entries_and_the_next_server_lists_them": OTHER_THREAD,
    "resume::test_the_first_call_goes_on_with_the_agent_that_is_named": OTHER_THREAD,
    "resume::test_the_first_call_goes_on_with_the_last_agent_and_its_summary": MEMORY,
    "resume::test_without_a_summary_it_warns_and_goes_on": MEMORY,
    "starting::test_an_agent_is_resumed_with_its_name_its_folder_and_its_conversation": MEMORY,
    "two_servers::test_agents_of_a_server_that_is_killed_go_on_with_the_other": OTHER_THREAD,
    "two_servers::test_the_second_server_knows_whose_an_agent_is_and_names_are_those_of_both": OTHER_THREAD,
}
"""Tests that do not hold on this Codex, and why; docs/compatibility.md says the same."""


@pytest.fixture
def codex_flags() -> Sequence[str]:
    """The old Codex, by its name."""
    return ("--codex-bin", str(package("codex-old") / "bin/codex.js"))


def holding_of(topic: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Those of a topic that hold here."""
    for name, test in vars(importlib.import_module(f"tests.acceptance.team.test_{topic}")).items():
        if name.startswith("test_") and f"{topic}::{name}" not in CANNOT and name not in OURS_ALONE:
            yield name, test


globals().update(dict(test for topic in TOPICS for test in holding_of(topic)))


# -- what happens in place of what it cannot do ------------------------------------------------------------------------


async def test_an_agent_of_an_earlier_server_comes_back_in_a_new_thread_with_its_summary(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        before = await server.start(say("the blue door"))
        server.close_stdin()
        await server.exit_code()
    async with team(script=TEAM_SCRIPT) as (server, model):
        back = await server.start(say("go on"), codex_id=before["codex_id"])
        assert (back["codex_id"], back["identity"], back["content"]) == (before["codex_id"], "codex", "go on")
        assert back["threadId"] != before["threadId"]
        assert f"In short: all is well in {before['threadId']}." in heard(model)
        assert "could not be loaded" in heard(model)
        assert "the blue door" not in heard(model)
        assert (await server.threads())[back["codex_id"]]["threadId"] == back["threadId"]
        await server.reply("codex", say("and on"))
        assert heard(model).count("could not be loaded") == 1


async def test_an_agent_whose_codex_has_died_goes_on_in_a_new_thread(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        arch = await server.start(say("the blue door"), identity="arch")
        os.kill((await server.status())["core"]["pid"], signal.SIGKILL)
        while (await server.status())["core"]["alive"]:
            pass
        back = await server.reply("arch", say("go on"))
        assert (back["codex_id"], back["content"]) == (arch["codex_id"], "go on")
        assert back["threadId"] != arch["threadId"]
        assert "could not be loaded" in heard(model)


async def test_an_agent_goes_on_in_a_new_thread_after_a_failure_of_the_model(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        arch = await server.start(say("the blue door"), identity="arch")
        failed = await server.run("codex-reply", {"prompt": "[[scene: fail]]", "identity": "arch"})
        assert "codex-reply continues the agent in a new one" in refusal(failed)
        back = await server.reply("arch", say("go on"))
        assert (back["codex_id"], back["content"]) == (arch["codex_id"], "go on")
        assert back["threadId"] != arch["threadId"]
        assert "could not be loaded" in heard(model)


async def test_an_agent_is_waited_for_by_its_name_while_its_first_turn_runs(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(gate(), identity="arch", background=True)
        await model.wait_for_gate("gate")
        waiting = server.call("codex_wait", {"ids": ["arch"]})
        model.release("gate")
        (finished,) = structured(await server.result(waiting))["finished"]
        assert (finished["identity"], finished["content"]) == ("arch", "The gate is open.")


async def test_urgent_mail_waits_for_the_end_of_the_turn(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model):
        await urgent_mail_waits(server, model)


# -- the list ----------------------------------------------------------------------------------------------------------


def test_what_it_cannot_do_is_in_the_documentation_and_nothing_else() -> None:
    page = (ROOT / "docs/compatibility.md").read_text()
    rows = re.findall(r"^\| `acceptance/team/test_(\w+)\.py::(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert {f"{topic}::{name}": reason for topic, name, reason in rows} == CANNOT


def test_what_it_cannot_do_are_holding_of_the_team() -> None:
    for test in CANNOT:
        topic, name = test.split("::")
        assert f"async def {name}(" in Path(TEAM_TESTS / f"test_{topic}.py").read_text(), test


def test_no_two_topics_have_a_test_of_the_same_name() -> None:
    names = [name for topic in TOPICS for name, _ in holding_of(topic)]
    assert len(names) == len(set(names))
