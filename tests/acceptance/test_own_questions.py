"""Questions that no call led to, without a team: of a sub-agent, and of a turn that Codex begins by itself."""

import re
from pathlib import Path

import pytest
from mcp_types import ElicitResult

from tests.acceptance.test_python_sdk import Person, connected, every_mode, structured
from tests.support.team.own_turns import OWN_TURNS

ASKING = {"approval-policy": "on-request", "sandbox": "read-only"}


@every_mode
@pytest.mark.parametrize(
    ("prompt", "asker"), [("[[scene: spawn_asking]]", r"Sub-agent \S+ of thread \S+ asks:\n"), ("ask first", "")]
)
async def test_it_is_asked_and_the_answer_is_obeyed(tmp_path: Path, mode: str, prompt: str, asker: str) -> None:
    person = Person(ElicitResult(action="accept", content={"decision": "approved"}))
    async with connected(tmp_path, mode=mode, person=person, script=OWN_TURNS) as (client, _):
        begun = structured(await client.call_tool("codex", {"prompt": prompt, **ASKING}))
        assert begun["status"] == "completed"
        assert "codex-reply with `when: interrupt` stops it" in str(begun["warnings"])
        while not structured(await client.call_tool("codex_wait", {"threadIds": [begun["threadId"]]}))["finished"]:
            pass
        (asked,) = person.questions
        assert re.match(rf"{asker}Allow Codex to run", asked.message)
        assert (tmp_path / "work/asked").exists()
