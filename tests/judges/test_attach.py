"""The real Codex TUI on an agent: the oldest and the newest Codex, each as the TUI and as the agent's Codex."""

import os
import signal
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from codex_mcp import __version__
from codex_mcp.codex.versions.verdict import Verdict
from codex_mcp.codex.versions.verdicts import identity_of, record
from tests.support.clients.judges import newest_codex
from tests.support.processes import the_core
from tests.support.servers.commands import PROGRAM
from tests.support.servers.mcp_server import Setup
from tests.support.servers.tmux import Screen
from tests.support.team.team_server import TeamServer, say, structured, team_server

ON_PATH = {"PATH": f"{newest_codex().parent}{os.pathsep}{os.environ['PATH']}"}
"""Where the newest Codex is found; otherwise it is the one that came with us."""

VERSIONS: Mapping[str, dict[str, str]] = {"oldest": {}, "newest": ON_PATH}
ALL_PAIRS = [(tui, core) for tui in VERSIONS for core in VERSIONS]

ASKING = {"sandbox": "read-only", "approval-policy": "on-request"}
IDLE = "Ask Codex to do anything"
BEGUN = "• hello"
"""The answer of the agent's first turn: the TUI has the conversation."""

REFUSED = (
    ("!touch shelled", "a TUI cannot run commands beside the agent"),
    ("/compact", "a TUI cannot change the history of an agent"),
    ("/rename other", "a TUI cannot change the history of an agent"),
    ("/stop", "a TUI cannot end commands"),
    ("/new", "shows this one conversation"),
    ("/fork", "shows this one conversation"),
)
"""What a person may type, and what is said of it."""

PATCH_DIALOG = "Would you like to make the following edits?"
DIALOG = "Would you like to run the following command?"
STREAM = "[[scene: stream piece=again count=100000 interval=0.05]]"


def escalate(file: str) -> str:
    """A prompt whose agent asks whether it may make this file."""
    return f'[[scene: escalate cmd="touch {file}"]]'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home in which the newest Codex has passed, also if it is so new that our table does not have it."""
    home = tmp_path / "home/.codex"
    home.mkdir(parents=True)
    verdict = Verdict(identity=identity_of(str(newest_codex())), sha256="", version="", by=__version__)
    record(verdict, str(home))
    return tmp_path


def attach(setup: Setup, tui: str, *words: str, columns: int = 120) -> Screen:
    """`codex-mcp attach arch` at a terminal, with the TUI of this version."""
    environment = {**setup.env(), "PATH": os.environ["PATH"], "ATM_IDENTITY": "mira", **VERSIONS[tui]}
    return Screen([PROGRAM, "attach", "arch", *words], environment, setup.work, columns)


async def news(server: TeamServer) -> list[str]:
    """What persons have done, as the lead hears it."""
    told = structured(await server.run("codex_wait", {"ids": ["arch"], "timeout-seconds": 0}))
    return [each["status"] for each in told.get("people", [])]


@pytest.mark.parametrize(("tui", "core"), ALL_PAIRS)
async def test_a_person_looks_on_types_steers_and_interrupts(place: Path, tui: str, core: str) -> None:
    async with team_server(place, environment=VERSIONS[core], elicitation=False) as (server, model):
        await server.start(say("the harbour is frozen"), identity="arch")
        running = the_core(server.setup.home).argv[0]
        assert (running == str(newest_codex())) == (core == "newest")
        with attach(server.setup, tui) as screen:
            await screen.shows("the harbour is frozen", IDLE)
            await screen.type(say("I am thawing"))
            await screen.shows("• I am thawing", IDLE)
            assert await news(server) == ["prompted"]
            # What the lead asks for is shown as it happens; the person steers it, then stops it.
            call = server.call("codex-reply", {"identity": "arch", "prompt": STREAM})
            await screen.shows("again again")
            await screen.type("Also [[scene: stream piece=steered count=100000 interval=0.05]]")
            await screen.shows("steeredsteered")
            screen.keys("Escape")
            await screen.shows("Conversation interrupted")
            result = structured(await server.result(call))
            assert result["status"] == "interrupted"
            assert len(result["warnings"]) == 2
            assert await news(server) == ["steered", "interrupted"]
            # Leaving in the middle of a turn disturbs nothing.
            call = server.call("codex-reply", {"identity": "arch", "prompt": "[[scene: gate text=passed]]"})
            await screen.shows("Waiting.")
            await screen.type("/quit")
            await screen.shows("ENDED 0")
        model.release("gate")
        assert structured(await server.result(call))["content"] == "passed"


@pytest.mark.parametrize(("tui", "core"), ALL_PAIRS)
async def test_the_first_answer_counts_in_a_tui_and_elsewhere(place: Path, tui: str, core: str) -> None:
    other = "newest" if tui == "oldest" else "oldest"
    async with team_server(place, environment=VERSIONS[core], elicitation=False) as (server, _model):
        await server.start(say("hello"), identity="arch", **ASKING)
        with attach(server.setup, tui) as screen, attach(server.setup, other) as second:
            for each in (screen, second):
                await each.shows(BEGUN, IDLE)
            await server.reply("arch", escalate("one"), background=True)
            for each in (screen, second):
                await each.shows(DIALOG, "touch one")
            await screen.dismiss("y", DIALOG)
            for each in (screen, second):
                await each.shows("It ran.", gone=DIALOG)
            await server.reply("arch", escalate("two"), background=True)
            for each in (screen, second):
                await each.shows(DIALOG, "touch two")
            (question,) = structured(await server.run("codex_approvals", {}))["approvals"]
            await server.run("codex_approvals", {"id": question["id"], "decision": "approved"})
            for each in (screen, second):
                await each.shows("Ran touch two", gone=DIALOG)
            # A patch that was asked before the TUI came is shown with its lines.
            await server.reply("arch", "[[scene: patch file=three line=shown]]", background=True)
            with attach(server.setup, tui, "--read-only") as watching, attach(server.setup, tui) as late:
                await late.shows(PATCH_DIALOG, "+shown")
                await late.dismiss("y", PATCH_DIALOG)
                await late.shows("The file is written.")
                shown = await watching.shows("The file is written.")
                assert "Would you like" not in shown
                await watching.type("hello")
                await watching.shows("this TUI only watches the agent")
        files = sorted(path.name for path in server.setup.work.iterdir())
        assert files == ["one", "three", "two"]
        decided = [line for line in server.audit() if line["event"] == "approval"]
        assert [(line.get("by"), line["via"]) for line in decided] == [
            ("mira", "tui"),
            ("tests", "codex_approvals"),
            ("mira", "tui"),
        ]


@pytest.mark.parametrize(("tui", "core"), [("oldest", "oldest"), ("newest", "newest")])
async def test_what_is_not_offered_is_refused_with_a_sentence_and_the_tui_lives(
    place: Path, tui: str, core: str
) -> None:
    async with team_server(place, environment=VERSIONS[core], elicitation=False) as (server, _model):
        await server.start(say("hello"), identity="arch", **ASKING)
        with attach(server.setup, tui) as screen:
            await screen.shows(BEGUN, IDLE)
            last = BEGUN
            for number, (typed, said) in enumerate(REFUSED):
                await screen.type(typed)
                await screen.shows(said, after=last)
                await screen.type(say(f"alive {number}"))
                last = f"• alive {number}"
                await screen.shows(last)
            await screen.type("/review")
            await screen.shows("Select a review preset")
            screen.keys("Down", "Enter")
            await screen.shows("a TUI cannot start a review")
            await screen.type(say("alive too"))
            await screen.shows("• alive too")
            await screen.type("/model")
            await screen.shows("Select Model")
            screen.keys("Enter")
            await screen.shows("elect")
            screen.keys("Enter")
            await screen.shows("thread/settings/update failed")
            await screen.type("/permissions")
            await screen.shows("Permissions")
            screen.keys("Escape", "Escape")
            await screen.type(say("still alive"))
            await screen.shows("• still alive", IDLE)
        assert list(server.setup.work.iterdir()) == []
        written = tomllib.loads((server.setup.codex_home / "config.toml").read_text())
        assert written.keys() == {"tui"}, "what the TUI notes of its terminal"
        again = await server.reply("arch", escalate("no"), background=True)
        assert again["status"] == "running", "it still asks"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tui_waits_for_its_agent_and_ends_with_it(place: Path, version: str) -> None:
    async with team_server(place, environment=VERSIONS[version], elicitation=False) as (server, _model):
        await server.start(say("hello"), identity="arch")
        with attach(server.setup, version) as screen:
            await screen.shows(BEGUN, IDLE)
            os.kill((await server.status())["core"]["pid"], signal.SIGKILL)
            attached = "attach (control)"
            await server.until(lambda: [line.get("what") for line in server.audit()].count(attached) == 2)
            await screen.type(say("after the crash"))
            await screen.shows("• after the crash", IDLE)
            await server.close_agent("arch")
            await screen.shows("no server runs agent arch", "it is closed", "ENDED 1")
