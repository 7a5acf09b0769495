"""What we rely on, against the schema of the Codex that comes with us, whole and with pieces missing."""

import ast
import copy
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codex_cli_bin import bundled_codex_path

from codex_mcp.codex.versions import contract
from codex_mcp.codex.versions.contract import HEARD, REQUESTS, UNLISTED, differences, unfit
from codex_mcp.wire.app.notifications import DESCRIBED as NOTIFICATIONS
from codex_mcp.wire.app.notifications import DescribedNotification
from codex_mcp.wire.app.questions import DESCRIBED as QUESTIONS
from codex_mcp.wire.app.questions import DescribedQuestion

SOURCES = Path(contract.__file__).parents[2]
PARTS = len(SOURCES.parts)
SENDERS = ("core.request", "self.request", "self._request")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("schema")
    argv = [bundled_codex_path(), "app-server", "generate-json-schema", "--experimental", "--out", folder]
    subprocess.run(argv, check=True, env={"CODEX_HOME": str(folder)})
    return json.loads((folder / "codex_app_server_protocol.schemas.json").read_text())


def without(bundle: Any, kind: str, method: str) -> Any:
    changed = copy.deepcopy(bundle)
    known = changed["definitions"][kind]
    known["oneOf"] = [option for option in known["oneOf"] if option["properties"]["method"]["enum"] != [method]]
    return changed


def test_our_own_codex_keeps_the_contract(bundle: Any) -> None:
    assert unfit(bundle) == []


@pytest.mark.parametrize("method", REQUESTS)
def test_a_codex_without_a_method_that_we_call_is_unfit(bundle: Any, method: str) -> None:
    assert unfit(without(bundle, "ClientRequest", method)) == [f"it has no method {method}"]


@pytest.mark.parametrize("method", sorted(HEARD))
def test_a_codex_without_a_notification_that_turns_need_is_unfit(bundle: Any, method: str) -> None:
    assert unfit(without(bundle, "ServerNotification", method)) == [f"it has no notification {method}"]


def test_a_notification_that_only_shows_something_may_be_gone(bundle: Any) -> None:
    changed = without(bundle, "ServerNotification", "turn/plan/updated")
    assert unfit(changed) == []
    assert "it has no notification turn/plan/updated" in [found.what for found in differences(changed)]


@pytest.mark.parametrize("method", [*QUESTIONS, "mcpServer/elicitation/request"])
def test_a_codex_that_no_longer_asks_is_unfit(bundle: Any, method: str) -> None:
    assert unfit(without(bundle, "ServerRequest", method)) == [f"it has no request {method}"]


def test_fields_count_if_they_are_needed(bundle: Any) -> None:
    changed = copy.deepcopy(bundle)
    definitions = changed["definitions"]["v2"]
    definitions["TurnStartParams"]["required"].append("colour")
    del definitions["TurnSteerParams"]["properties"]["expectedTurnId"]
    definitions["TurnStartResponse"]["required"].remove("turn")
    del definitions["Turn"]["properties"]["durationMs"]
    assert set(unfit(changed)) == {
        "turn/start needs colour",
        "turn/steer takes no expectedTurnId",
        "the answer to turn/start may have no turn",
    }
    assert "turn of turn/started has no durationMs" in [found.what for found in differences(changed)]


def test_a_schema_that_leads_in_a_circle_leads_nowhere(bundle: Any) -> None:
    changed = copy.deepcopy(bundle)
    changed["definitions"]["v2"]["TurnStartResponse"] = {"$ref": "#/definitions/v2/TurnStartResponse"}
    assert unfit(changed) == ["the answer to turn/start has no turn"]


def test_every_turn_needs_these_notifications() -> None:
    assert {"item/started", "item/completed", "turn/started", "turn/completed", "error"} == HEARD


def test_every_notification_and_every_question_that_is_read_is_part_of_the_contract() -> None:
    assert methods_below(DescribedNotification) == set(NOTIFICATIONS)
    assert methods_below(DescribedQuestion) == set(QUESTIONS)


def methods_below(kind: Any) -> set[str]:
    """The methods of all messages that are described as a kind of this one."""
    own = {kind.method} if "method" in vars(kind) else set()
    return own.union(*map(methods_below, kind.__subclasses__()))


def nodes() -> Iterator[ast.AST]:
    """Our sources that may talk to the app-server, or pass a method on."""
    for path in SOURCES.rglob("*.py"):
        if path.name == "contract.py" or {"legacy", "mcp", "execserver", "execclient"} & set(path.parts[PARTS:]):
            continue
        yield from ast.walk(ast.parse(path.read_text()))


def text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def asked_with(node: ast.AST) -> str:
    """The method in a call such as `core.request("thread/read", …)`."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(SENDERS) and node.args:
        return text(node.args[0])
    return ""


def test_the_contract_has_exactly_the_methods_that_our_sources_name(bundle: Any) -> None:
    methods = {
        method
        for option in bundle["definitions"]["ClientRequest"]["oneOf"]
        for method in option["properties"]["method"]["enum"]
    }
    ours = list(nodes())
    assert methods & set(map(text, ours)) == set(REQUESTS)
    assert set(map(asked_with, ours)) - {""} - methods == UNLISTED
