"""Counterparts of the recordings 05: patches, with and without a question."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.recordings.exchange import (
    ENDED,
    NEW,
    answered,
    as_recorded,
    event_of,
    event_types,
    failed,
    scene,
    serve,
    thread_of,
)
from tests.support.servers.mcp_server import Json, McpServer

ASKED = "apply_patch_approval_request"
APPLIED = ["patch_apply_begin", "patch_apply_end", "turn_diff", "token_count"]
NOT_APPLIED = ["patch_apply_end", "token_count"]

NOTHING_BUT_THE_WORKSPACE = {
    "sandbox_workspace_write.exclude_slash_tmp": True,
    "sandbox_workspace_write.exclude_tmpdir_env_var": True,
}
UNKNOWN_MODEL = "some-model"
"""A model that Codex does not know is offered no patch tool, and patches through a command."""


@dataclass
class Workspace:
    """A folder with one file, and the file beside it that a patch wants to add."""

    server: McpServer
    model: ScriptedModel

    @property
    def there(self) -> Path:
        return self.server.setup.work / "there.txt"

    @property
    def outside(self) -> Path:
        return self.server.setup.folder / "outside.txt"

    def call(self, added: Path, **arguments: object) -> int | str:
        """Ask for a patch that adds this file and changes the one that is there."""
        return self.server.call(
            "codex",
            {
                "prompt": scene("patch", added=str(added)),
                "cwd": str(self.server.setup.work),
                "sandbox": "workspace-write",
                "approval-policy": "on-request",
                "config": NOTHING_BUT_THE_WORKSPACE,
                **arguments,
            },
        )


@asynccontextmanager
async def workspace(folder: Path) -> AsyncIterator[Workspace]:
    async with serve(folder) as (server, model):
        space = Workspace(server, model)
        space.there.write_text("before\nstays\n")
        await server.initialize()
        yield space


def changes(space: Workspace, added: Path) -> Json:
    diff = "@@ -1,2 +1,2 @@\n-before\n+after\n stays\n"
    return {
        str(space.there): {"type": "update", "unified_diff": diff, "move_path": None},
        str(added): {"type": "add", "content": "brand new\n"},
    }


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("gpt-5.5", id="05_patch_approved_custom_tool"),
        pytest.param(UNKNOWN_MODEL, id="05_patch_approved"),
    ],
)
async def test_an_approved_patch_is_applied_whichever_way_it_came(tmp_path: Path, model: str) -> None:
    async with workspace(tmp_path) as space:
        server = space.server
        call = space.call(space.outside, model=model)
        question = await server.question()
        assert space.there.read_text() == "before\nstays\n"
        server.reply(question["id"], {"decision": "approved"})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The patch is over.")
        # That the model is unknown is news of the thread, and comes at any time before the first turn.
        types = event_types(server, call, but=("warning",))
        assert types == [*NEW, ASKED, *APPLIED, *ENDED]
        assert space.outside.read_text() == "brand new\n"
        assert space.there.read_text() == "after\nstays\n"
        end = event_of(server, call, "patch_apply_end")
        assert (end["success"], end["status"], end["changes"]) == (True, "completed", changes(space, space.outside))
        assert event_of(server, call, "patch_apply_begin")["auto_approved"] is False
        files = {change["path"]: change["kind"] for change in result["structuredContent"]["filesChanged"]}
        assert files == {str(space.outside): "add", str(space.there): "update"}


async def test_the_question_shows_every_change(tmp_path: Path) -> None:
    async with workspace(tmp_path) as space:
        server = space.server
        call = space.call(space.outside)
        params = (await server.question())["params"]
        server.reply(0, {"decision": "denied"})
        thread = thread_of(await server.result(call))

        asked = event_of(server, call, ASKED)
        del params["requestedSchema"], params["codex_available_decisions"]
        assert params == {
            "message": "Allow Codex to apply proposed code changes?\n"
            f"- add `{space.outside}`\n- update `{space.there}`",
            "threadId": thread,
            "codex_elicitation": "patch-approval",
            "codex_mcp_tool_call_id": str(call),
            "codex_event_id": asked["turn_id"],
            "codex_call_id": asked["call_id"],
            "codex_changes": changes(space, space.outside),
        }
        assert asked["changes"] == changes(space, space.outside)


async def test_a_patch_inside_the_workspace_is_not_asked_about(tmp_path: Path) -> None:
    async with workspace(tmp_path) as space:
        inside = space.there.with_name("inside.txt")
        call = space.call(inside)
        result = await space.server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The patch is over.")
        assert event_types(space.server, call) == [*NEW, *APPLIED, *ENDED]
        assert event_of(space.server, call, "patch_apply_begin")["auto_approved"] is True
        assert (inside.read_text(), space.there.read_text()) == ("brand new\n", "after\nstays\n")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"result": {"decision": "denied"}}, id="05_patch_denied"),
        pytest.param({"result": {"decision": 42}}, id="05_patch_garbage"),
        pytest.param({"error": {"code": -32000, "message": "no"}}, id="05_patch_error_reply"),
    ],
)
async def test_a_patch_that_is_not_approved_changes_nothing(tmp_path: Path, answer: Json) -> None:
    async with workspace(tmp_path) as space:
        server = space.server
        call = space.call(space.outside)
        server.send({"jsonrpc": "2.0", "id": (await server.question())["id"], **answer})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The patch is over.")
        assert event_types(server, call) == [*NEW, ASKED, *NOT_APPLIED, *ENDED]
        end = event_of(server, call, "patch_apply_end")
        assert (end["success"], end["status"]) == (False, "declined")
        assert not space.outside.exists()
        assert space.there.read_text() == "before\nstays\n"


async def test_abort_ends_the_turn_and_the_call(tmp_path: Path) -> None:
    async with workspace(tmp_path) as space:
        server = space.server
        call = space.call(space.outside)
        server.reply((await server.question())["id"], {"decision": "abort"})
        result = await server.result(call)

        assert as_recorded(result) == failed(thread_of(result), "The turn was interrupted.")
        assert event_types(server, call, but=("token_count",)) == [*NEW, ASKED, "turn_aborted"]
        assert not space.outside.exists()
        assert space.there.read_text() == "before\nstays\n"
        server.close_stdin()
        assert await server.exit_code() == 0
