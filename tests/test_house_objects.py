"""Rules about names and places that no linter knows: who assigns to an object, which module a text means, whose test a
file is. Each list of exceptions is complete, so that it can only get shorter."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.test_house_rules import PACKAGE, ROOT, SRC, modules, tree

TESTS = ROOT / "tests"

OF_LIBRARIES = {
    "base.quick_records": {"logging._srcfile"},
    "cli.account.cmd_login": {"parser.epilog"},
    "cli.clients.recognition.servers": {"lexer.commenters", "lexer.whitespace_split"},
    "cli.cmd_completion": {"action.complete", "parser.epilog"},
    "cli.doctor.cmd_doctor": {"parser.epilog"},
    "cli.exec.cmd_exec": {"handler.terminator"},
    "cli.serving": {"arguments.overrides"},
    "cli.pages.own_pages": {"server.should_exit"},
    "config.load": {"parser.epilog", "parser.usage"},
    "mcp.http.serve": {"server.should_exit"},
    "rendezvous.serve": {"server.should_exit"},
    "transports.first_bytes": {"config.http_protocol_class", "config.ssl"},
    "transports.response_writes": {"cycle.response_complete", "cycle.response_started"},
    "transports.web_limits": {
        "cycle.disconnected",
        "cycle.response_complete",
        "cycle.response_started",
        "cycle.transport",
    },
    "transports.websockets.socket": {"frame.data"},
}
"""What a library offers no other way for."""

NOT_YET = {
    "cli.doctor.self_test": {"trial.person.approves", "trial.thread"},
    "codex.environments": {"added.door", "added.open", "added.starting"},
    "threads.events.item_life": {"known.life", "known.note"},
    "codex.legacy.core": {"known.failure", "known.is_unwanted"},
    "codex.supervisor": {"app.process", "running.has_started", "running.is_ending"},
    "execclient.link": {"connection.generation"},
    "execserver.sandbox.placeholders": {"place.users"},
    "execserver.sessions": {"entry.holder", "entry.until"},
    "git.running": {"git._environment", "git._is_sealed"},
    "mcp.calls.call": {"turn.audience"},
    "mcp.calls.waiting": {"in_flight.keys"},
    "mcp.http.grants": {"grant.admitted", "grant.generation"},
    "transports.streams.live_stream": {"self._delivery.missed"},
    "relay.retention": {"each.sent_at"},
    "rendezvous.registry": {"known.seen_at"},
    "rendezvous.relay": {"self.metrics.too_slow", "self.metrics.unreadable"},
    "rendezvous.routes": {
        "harness.refused",
        "stream.executor_acknowledges",
        "stream.harness",
        "stream.harness_acknowledges",
        "stream.held_until",
        "stream.is_answered",
        "stream.owner",
        "stream.resumes",
    },
    "scripted_model.server": {"counted.tokens"},
    "sessions.sessions": {"found.resumed", "noted.resumed", "noted.session", "use.begin_again", "use.trouble"},
    "state.embedded.leases": {"self._view.me"},
    "team.mail.arrivals": {"followed.seen"},
    "threads.turn_queue": {
        "current.interrupt_sent",
        "current.state",
        "current.turn_id",
        "place.interrupt_sent",
        "place.is_said",
        "place.is_urgent",
        "place.state",
        "place.turn_id",
    },
    "transports.outline": {"parent.key", "self._stack[-1].key"},
}
"""What objects should do themselves: move such an assignment into a method of its object, and take it off this list."""


def assigned_from_outside(path: Path) -> set[str]:
    """The attributes that a module assigns or deletes of objects other than `self`, as they are written there."""
    return {
        ast.unparse(node)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store | ast.Del)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    }


def test_only_an_objects_own_methods_assign_to_its_attributes() -> None:
    found = {name.removeprefix(f"{PACKAGE}."): assigned_from_outside(path) for name, path in modules().items()}
    assert {name: attributes for name, attributes in found.items() if attributes} == NOT_YET | OF_LIBRARIES


PLACES = {
    path.relative_to(SRC / PACKAGE).with_suffix("").as_posix().removesuffix("/__init__") for path in modules().values()
}
"""Modules and packages: `team/mail`, `team/mail/names`."""

SEGMENTS = {place.rpartition("/")[2] for place in PLACES}


def is_place(name: str) -> bool:
    """Whether `mail/names` is the end of the name of a module or package."""
    return any(place == name or place.endswith(f"/{name}") for place in PLACES)


def is_missing(quoted: str) -> bool:
    """Whether a text between backticks means a module that does not exist.

    It means one if it looks so: `names.py`, `mail/`, and `mail.names` or `mail/names`, where `mail` is a module or a
    package. One or two names of what stands in a module may follow: `mail.store.MailStore`.
    """
    parts = re.split(r"[/.]", quoted.removesuffix(".py").strip("/"))
    if quoted.endswith(".py"):
        return not is_place("/".join(parts))
    if parts[0] not in SEGMENTS or len(parts) == 1:
        return False
    longest = len(parts) if quoted.endswith("/") else max(1, len(parts) - 2)
    return not any(is_place("/".join(parts[:length])) for length in range(longest, len(parts) + 1))


def test_a_name_of_a_module_is_recognised() -> None:
    assert all(map(is_missing, ["nothing.py", "mail/nothing.py", "mail/nothing/here/at_all", "mail/nothing/"]))
    assert not any(map(is_missing, ["names.py", "mail/names.py", "mail.store.MailStore", "mail/files/", "turn/start"]))


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


QUOTED = re.compile(r"`([\w./]+)`")
NO_MODULES = {
    "codex.exec_server.relay.v1.RelayMessageFrame": "a message of protobuf",
    "dashboard/templates/": "no Python",
    "state/postgres/": "to come",
}


def test_every_module_that_a_docstring_names_exists() -> None:
    texts = [(name, text) for name, path in modules().items() for text in docstrings(path)]
    texts += [(name, (ROOT / name).read_text()) for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md")]
    named = [(name, quoted) for name, text in texts for quoted in QUOTED.findall(text) if quoted not in NO_MODULES]
    exists_elsewhere = {path.name for path in TESTS.rglob("*.py")} | {"__init__.py"}
    assert [
        f"{name}: {quoted}"
        for name, quoted in named
        if is_missing(quoted) and quoted.rpartition("/")[2] not in exists_elsewhere
    ] == []


OF_SEVERAL_MODULES = {
    "cli/clients/test_forms.py",
    "cli/clients/test_links.py",
    "cli/doctor/test_advice.py",
    "cli/exec/test_exit_codes.py",
    "cli/test_json_documents.py",
    "threads/events/test_any_order.py",
    "config/test_environments.py",
    "conversations/test_endings.py",
    "execclient/test_forged_resets.py",
    "execclient/test_losses_beside_answers.py",
    "mail/test_crash.py",
    "mail/test_stress.py",
    "mcp/asking/test_forms.py",
    "mcp/calls/test_giving_up.py",
    "mcp/http/test_taken_answers.py",
    "mcp/schema/test_golden_results.py",
    "mcp/tools/test_golden_tools.py",
    "relay/test_hostile_relay.py",
    "rendezvous/test_fuzzed_requests.py",
    "rendezvous/test_many_streams.py",
    "rendezvous/test_sandboxed_peers.py",
    "state/test_worlds_agree.py",
    "threads/stopping/test_stopping.py",
    "threads/test_lost_cores.py",
    "threads/test_turns_any_life.py",
    "wire/test_every_type.py",
}
"""Tests that show what the modules of a package do together, or that no module owns."""


def beside(test: Path) -> bool:
    """Whether a test file has the name of a module of the package whose tests stand there; more words may follow."""
    words = test.stem.removeprefix("test_").split("_")
    folder = SRC / PACKAGE / test.parent.relative_to(TESTS)
    return any((folder / f"{'_'.join(words[:count])}.py").exists() for count in range(1, len(words) + 1))


def test_every_test_file_stands_beside_its_module() -> None:
    packages = sorted(path.name for path in (SRC / PACKAGE).iterdir() if path.is_dir())
    files = [path for package in packages for path in (TESTS / package).rglob("test_*.py")]
    assert {path.relative_to(TESTS).as_posix() for path in files if not beside(path)} == OF_SEVERAL_MODULES
