"""Whatever comes, in whatever order: the translator never raises, and what begins ends once."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_mcp.codex.core import Event
from codex_mcp.codex.reading import read_notification, read_question
from codex_mcp.threads.events.item_life import MAX_ITEMS
from codex_mcp.threads.events.session import RENAMED
from codex_mcp.threads.events.translator import EventTranslator
from codex_mcp.wire.app import notifications, questions
from tests.support.core.app_events import (
    COMMAND_APPROVAL,
    PATCH_APPROVAL,
    THREAD,
    Json,
    Talk,
    command,
    message,
    patch,
    ran,
    running,
    usage,
)

METHODS = st.sampled_from(
    [
        *notifications.DESCRIBED,
        *RENAMED,
        *questions.DESCRIBED,
        questions.ServerElicitation.method,
        "thread/status/changed",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
BYTES = JSON.map(msgspec.json.encode) | st.binary(max_size=20)

COMMANDS = st.sampled_from(["c-1", "c-2"])
PATCHES = st.sampled_from(["p-1", "p-2"])
STATES = st.sampled_from(["completed", "failed", "declined"])
STEPS = st.one_of(
    st.tuples(st.just("command starts"), COMMANDS, st.booleans()),
    st.tuples(st.just("command ends"), COMMANDS, STATES),
    st.tuples(st.just("output"), COMMANDS),
    st.tuples(st.just("patch starts"), PATCHES),
    st.tuples(st.just("patch ends"), PATCHES, STATES),
    st.tuples(st.just("asked"), COMMANDS | PATCHES),
    st.tuples(st.just("answered"), COMMANDS | PATCHES, st.booleans()),
    st.tuples(st.just("usage")),
    st.tuples(st.just("turn starts")),
    st.tuples(st.just("turn ends")),
)


def take(talk: Talk, step: tuple[object, ...]) -> None:
    match step:
        case ("command starts", str(item_id), bool(is_running)):
            talk.started(running(item_id) if is_running else command(item_id))
        case ("command ends", str(item_id), str(status)):
            talk.completed(ran(item_id) if status == "completed" else command(item_id, status=status))
        case ("output", str(item_id)):
            talk.in_turn("item/commandExecution/outputDelta", itemId=item_id, delta="x")
        case ("patch starts", str(item_id)):
            talk.started(patch(item_id))
        case ("patch ends", str(item_id), str(status)):
            talk.completed(patch(item_id, status=status))
        case ("asked", str(item_id)):
            talk.asks(approval(item_id), itemId=item_id)
        case ("answered", str(item_id), bool(yes)):
            talk.answer(approval(item_id), item_id, approved=yes)
        case ("usage",):
            talk.in_turn("thread/tokenUsage/updated", tokenUsage=usage())
        case ("turn starts",):
            talk.turn_started()
        case _:
            talk.turn_completed()


def approval(item_id: str) -> str:
    return COMMAND_APPROVAL if item_id.startswith("c") else PATCH_APPROVAL


@given(st.lists(STEPS, max_size=30))
def test_what_begins_ends_at_most_once_and_nothing_else_ends(steps: list[tuple[object, ...]]) -> None:
    talk = Talk()
    for step in steps:
        take(talk, step)
    open_items: set[object] = set()
    for event in talk.events:
        match event.msg:
            case {"type": "exec_command_begin" | "patch_apply_begin", "call_id": str(item_id)}:
                assert item_id not in open_items
                open_items.add(item_id)
            case {"type": "exec_command_end", "call_id": str(item_id)}:
                open_items.remove(item_id)
            case {"type": "patch_apply_end", "call_id": str(item_id), "success": success}:
                assert item_id in open_items or not success
                open_items.discard(item_id)
            case {"type": "task_complete"}:
                open_items = {item_id for item_id in open_items if str(item_id).startswith("c")}


@given(st.lists(STEPS, max_size=30))
def test_every_token_count_after_the_first_turn_began_arrives_once(steps: list[tuple[object, ...]]) -> None:
    talk = Talk()
    for step in [*steps, ("turn ends",)]:
        take(talk, step)
    begun = steps.index(("turn starts",)) if ("turn starts",) in steps else len(steps)
    assert talk.types.count("token_count") == steps[begun:].count(("usage",))


@given(st.lists(st.tuples(METHODS, BYTES), max_size=10))
def test_garbage_gives_no_exception(messages: list[tuple[str, bytes]]) -> None:
    translator = EventTranslator(THREAD, full=True)
    for method, params in messages:
        for event in said(translator, method, params):
            msgspec.json.encode(event.msg)


def said(translator: EventTranslator, method: str, params: bytes) -> list[Event]:
    """The events of a notification or a question with these parameters."""
    note = read_notification(method, msgspec.Raw(params))
    asked = read_question(method, msgspec.Raw(params))
    events = [] if note is None else translator.told(note)
    return [*events, *translator.told(asked), *translator.answered(asked, approved=True)]


def mangled(value: object, path: list[int], replacement: object) -> object:
    """The value with one part, found by walking `path`, replaced."""
    if isinstance(value, dict) and path and value:
        name = sorted(value)[path[0] % len(value)]
        return value | {name: mangled(value[name], path[1:], replacement)}
    if isinstance(value, list) and path and value:
        index = path[0] % len(value)
        return [*value[:index], mangled(value[index], path[1:], replacement), *value[index + 1 :]]
    return replacement


GOOD: list[tuple[str, Json]] = [
    ("item/started", {"turnId": "t", "item": command(), "startedAtMs": 1}),
    ("item/completed", {"turnId": "t", "item": ran(), "completedAtMs": 1}),
    ("item/completed", {"turnId": "t", "item": patch(), "completedAtMs": 1}),
    ("item/completed", {"turnId": "t", "item": message("hi"), "completedAtMs": 1}),
    ("thread/tokenUsage/updated", {"turnId": "t", "tokenUsage": usage()}),
    ("turn/completed", {"turn": {"id": "t", "status": "failed", "error": {"message": "x", "codexErrorInfo": "other"}}}),
    (COMMAND_APPROVAL, {"turnId": "t", "itemId": "call-1", "availableDecisions": ["accept", {"x": {"y": 1}}]}),
]


@settings(max_examples=300)
@given(st.sampled_from(GOOD), st.lists(st.integers(0, 9), min_size=1, max_size=4), JSON)
def test_one_wrong_part_gives_no_exception(good: tuple[str, Json], path: list[int], replacement: object) -> None:
    method, params = good
    encoded = msgspec.json.encode(mangled(params, path, replacement))
    for event in said(EventTranslator(THREAD, full=True), method, encoded):
        msgspec.json.encode(event.msg)


def test_memory_is_bounded_even_if_nothing_ever_completes() -> None:
    talk = Talk().turn_started()
    for number in range(2 * MAX_ITEMS):
        talk.started(patch(f"p-{number}"))
    known = [number for number in range(2 * MAX_ITEMS) if talk.translator.changes_of(f"p-{number}") is not None]
    assert known == list(range(MAX_ITEMS, 2 * MAX_ITEMS))
    talk.turn_completed()
    assert talk.translator.changes_of(f"p-{2 * MAX_ITEMS - 1}") is None
