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
from codex_mcp.wire.app.questions import DESCRIBED as QUESTIONS

SOURCES = Path(contract.__file__).parents[2]


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


def requested() -> Iterator[str]:
    """The methods in our sources that are passed to something called request or ask."""
    for path in SOURCES.rglob("*.py"):
        if "legacy" in path.parts or "mcp" in path.parts[len(SOURCES.parts) :]:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            first = node.args[0]
            if node.func.attr in ("request", "_request", "_open", "_asked", "_ask") and isinstance(first, ast.Constant):
                yield str(first.value)


def test_the_contract_has_every_request_that_we_send() -> None:
    ours = set(requested()) - {"POST"}  # of HTTP
    assert len(ours) > 20
    assert ours - UNLISTED <= REQUESTS.keys()
    sources = "".join(path.read_text() for path in SOURCES.rglob("*.py") if path.name != "contract.py")
    assert [method for method in REQUESTS if f'"{method}"' not in sources] == []
