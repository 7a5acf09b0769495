"""A review that another server of the folder runs: no record says whose it is."""

import subprocess
from pathlib import Path

from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import refusal, say, structured


def has_changed(folder: Path) -> None:
    """Make it a repository with something to review."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "new.py").write_text("new\n")


@requirement("FR-3.1")
async def test_a_review_is_found_at_the_server_that_runs_it(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model), team(script=TEAM_SCRIPT) as (other, _):
        has_changed(one.setup.work)
        await one.start(say("one"), identity="arch")
        asked = {"id": "arch", "of": gate("look"), "target": "custom", "background": True}
        begun = structured(await other.run("codex_review", asked))
        thread = begun["threadId"]
        await model.wait_for_gate("look")
        waits = other.call("codex_wait", {"ids": [thread]})
        model.release("look")
        (turn,) = structured(await other.result(waits))["finished"]
        assert (turn["threadId"], turn["status"]) == (thread, "completed")
        replied = structured(await other.run("codex-reply", {"threadId": thread, "prompt": say("more")}))
        assert (replied["threadId"], replied["content"]) == (thread, "more")
        assert "runs no turn" in refusal(await other.run("codex_interrupt", {"threadId": thread}))
        unknown = "01a1f419-8c84-7221-96f9-e364edcc6c54"
        assert f"No agent {unknown} is known" in refusal(
            await other.run("codex-reply", {"threadId": unknown, "prompt": "x"})
        )
