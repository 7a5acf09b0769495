"""`codex_review` on the real Codex: findings as data, and clear errors before a turn begins."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.team_server import TeamServer, refusal, structured

FOUND: Json = {
    "findings": [
        {
            "title": "[P1] Off by one",
            "body": "The loop ends too early.",
            "confidence_score": 0.9,
            "priority": 1,
            "code_location": {"absolute_file_path": "/repo/a.py", "line_range": {"start": 3, "end": 5}},
        }
    ],
    "overall_correctness": "patch is incorrect",
    "overall_explanation": "It breaks.",
    "overall_confidence_score": 0.8,
}


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=e", "-c", "user.email=e@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def repository(server: TeamServer) -> Path:
    """A repository with a commit on `main`, and a branch `same` at the same commit."""
    folder = server.setup.work / "repository"
    folder.mkdir()
    git(folder, "init", "-qb", "main")
    (folder / "a.py").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "branch", "same")
    return folder


@pytest.fixture
def found() -> Json:
    """What the model finds."""
    return FOUND


@pytest.fixture
def script(tmp_path: Path, found: Json) -> Path:
    """A model that finds something in every review."""
    path = tmp_path / "review.toml"
    scenes = (
        f"[scenes.found]\nwhen = \"review\"\nsteps = [{{ gate = 'look' }}, {{ say = '''{json.dumps(found)}''' }}]\n"
    )
    path.write_text(f"default = 'say'\n{scenes}[scenes.say]\nsteps = [{{ say = 'Hello.' }}]\n")
    return path


async def test_the_findings_of_a_review_are_data_and_words(team: Team, script: Path) -> None:
    async with team(script=script) as (server, model):
        model.release("look")
        folder = repository(server)
        (folder / "new.py").write_text("two\n")
        result = await server.run("codex_review", {"cwd": str(folder)})
        told = structured(result)
        (finding,) = told["findings"]
        assert finding == {
            "file": "/repo/a.py",
            "lines": [3, 5],
            "title": "Off by one",
            "text": "The loop ends too early.",
            "priority": 1,
        }
        assert told["status"] == "completed"
        assert "It breaks." in result["content"][0]["text"]
        assert await server.threads() == {}  # a review is no agent
        assert [entry["outcome"] for entry in server.audit() if entry["event"] == "codex_review"] == ["ok"]


@pytest.mark.parametrize(
    "found", [{**FOUND, "findings": [{**FOUND["findings"][0], "priority": None, "title": "Off by one"}]}]
)
async def test_findings_without_a_priority_are_data_too(team: Team, script: Path) -> None:
    async with team(script=script) as (server, model):
        model.release("look")
        folder = repository(server)
        (folder / "a.py").write_text("changed\n")
        told = structured(await server.run("codex_review", {"cwd": str(folder)}))
        (finding,) = told["findings"]
        text = "The loop ends too early."
        assert finding == {"file": "/repo/a.py", "lines": [3, 5], "title": "Off by one", "text": text}


async def test_the_tokens_of_a_review_count_for_its_agent_and_for_the_team(team: Team, script: Path) -> None:
    async with team("--tokens-per-team", "350", "--tokens-per-thread", "200", script=script) as (server, model):
        model.release("look")
        folder = repository(server)
        (folder / "a.py").write_text("changed\n")
        of_nobody = structured(await server.run("codex_review", {"cwd": str(folder)}))
        assert of_nobody["usage"]["totalTokens"] == 120
        assert structured(await server.run("codex_status", {}))["usage"] == {"tokens": 120}
        arch = await server.start("hello", identity="arch", cwd=str(folder))
        assert structured(await server.run("codex_review", {"id": "arch"}))["usage"]["totalTokens"] == 120
        assert (await server.threads())[arch["codex_id"]]["tokens"] == 240
        for tool, arguments in (("codex_review", {"id": "arch"}), ("codex-reply", {"id": "arch", "prompt": "more"})):
            assert "the team has used 360 tokens" in refusal(await server.run(tool, arguments))
        assert structured(await server.run("codex_status", {}))["usage"] == {"tokens": 360}
        assert len(model.requests) == 3


async def test_a_review_can_be_stopped_and_its_conversation_continued(team: Team, script: Path) -> None:
    async with team(script=script) as (server, model):
        folder = repository(server)
        (folder / "a.py").write_text("changed\n")
        begun = structured(await server.run("codex_review", {"cwd": str(folder), "background": True}))
        await model.wait_for_gate("look")
        stopped = structured(await server.run("codex_interrupt", {"threadId": begun["threadId"]}))
        assert stopped["status"] == "interrupted"
        model.release("look")
        told = structured(await server.run("codex-reply", {"threadId": begun["threadId"], "prompt": "Hello again"}))
        assert (told["status"], told["content"]) == ("completed", "Hello."), told["content"]
        assert "runs no turn" in refusal(await server.run("codex_interrupt", {"threadId": begun["threadId"]}))


@pytest.mark.parametrize(("target", "of"), [("base", "same"), ("commit", "HEAD"), ("custom", "Review the names.")])
async def test_every_target_is_reviewed(team: Team, script: Path, target: str, of: str) -> None:
    async with team(script=script) as (server, model):
        model.release("look")
        folder = repository(server)
        (folder / "a.py").write_text("changed\n")
        told = structured(await server.run("codex_review", {"cwd": str(folder), "target": target, "of": of}))
        assert (told["status"], len(told["findings"])) == ("completed", 1)


async def test_the_folder_of_a_busy_agent_is_reviewed_in_the_background(team: Team, script: Path) -> None:
    async with team(script=script) as (server, model):
        folder = repository(server)
        (folder / "a.py").write_text("changed\n")
        await server.start("hello", identity="arch", cwd=str(folder))
        begun = structured(await server.run("codex_review", {"id": "arch", "background": True}))
        assert begun["status"] == "running"
        await model.wait_for_gate("look")
        model.release("look")
        waited = structured(await server.run("codex_wait", {"threadIds": [begun["threadId"]]}))
        assert [(turn["status"], len(turn["findings"])) for turn in waited["finished"]] == [("completed", 1)]
        again = structured(await server.run("codex_wait", {"timeout-seconds": 0}))
        assert again["finished"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "has no staged, unstaged or untracked changes"),
        ({"target": "base", "of": "nope"}, "has no branch `nope`"),
        ({"target": "base", "of": "same"}, "has no changes that `same` does not contain"),
        ({"target": "base", "of": "--output=x"}, "has no branch `--output=x`"),
        ({"target": "commit", "of": "deadbeef"}, "has no commit `deadbeef`"),
        ({"target": "base"}, "the target base needs `of`"),
        ({"target": "all"}, "`all`"),
    ],
)
async def test_a_review_of_nothing_is_refused_before_a_turn_begins(
    team: Team, script: Path, arguments: Json, says: str
) -> None:
    async with team(script=script) as (server, model):
        folder = repository(server)
        assert says in refusal(await server.run("codex_review", {"cwd": str(folder), **arguments}))
        assert not model.requests


async def test_a_folder_without_a_repository_and_an_unknown_agent_are_refused(team: Team, script: Path) -> None:
    async with team(script=script) as (server, model):
        plain = server.setup.work / "plain"
        plain.mkdir()
        assert "is in no git repository" in refusal(await server.run("codex_review", {"cwd": str(plain)}))
        assert "No agent stranger" in refusal(await server.run("codex_review", {"id": "stranger"}))
        assert not model.requests


async def test_what_a_repository_names_as_a_filter_does_not_run(team: Team, script: Path) -> None:
    async with team(script=script) as (server, _model):
        folder = repository(server)
        (folder / ".gitattributes").write_text("*.py filter=evil\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "attributes")
        ran = server.setup.work / "ran"
        git(folder, "config", "filter.evil.clean", f"touch {ran}; cat")
        git(folder, "config", "core.fsmonitor", f"touch {ran}")
        (folder / "a.py").touch()
        text = refusal(await server.run("codex_review", {"cwd": str(folder)}))
        assert "untracked changes" in text
        assert not ran.exists()
