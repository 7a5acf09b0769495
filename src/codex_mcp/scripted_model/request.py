"""Pure. Reads a Responses API request: the newest message, and what tools have answered since.

Codex sends the whole history with every request, so the model remembers nothing between two of them.
"""

import re
from collections.abc import Mapping

import msgspec

from codex_mcp.base.errors import Refused

CONTEXT_OPENINGS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "<user_action>",
    "<goal_context>",
    "Another language model started to solve this problem",
)
"""How messages of role user begin that Codex itself writes; a person's prompt begins differently."""

GOAL_OPENING = '<codex_internal_context source="goal">'
"""How the message begins with which Codex goes on with a goal."""

GOAL_OUTPUT = "goal_objective"
"""The name of an output without a call, in which newer models are told the goal itself, before that message."""

_CALL_ID = re.compile(r"call_[0-9a-z]+_(\d+)_\d+")


class ContentPart(msgspec.Struct, frozen=True):
    """One part of a message or tool output; only text is read."""

    text: str = ""
    encrypted_content: str = ""
    """What one agent writes to another. Only OpenAI's models encrypt it."""


class InputItem(msgspec.Struct, frozen=True):
    """One entry of the history. `content` and `output` are decoded only where their shape is known."""

    type: str = "message"
    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    name: str = ""
    call_id: str | None = None
    output: msgspec.Raw = msgspec.Raw(b"null")


class Tool(msgspec.Struct, frozen=True):
    type: str = "function"
    name: str = ""


class Metadata(msgspec.Struct, frozen=True):
    """What Codex says about a request."""

    session_id: str = ""
    turn_id: str = ""


class RequestBody(msgspec.Struct, frozen=True):
    """The part of POST /responses that a script needs."""

    model: str = ""
    input: str | list[InputItem] = ""
    tools: list[Tool] = []
    stream: bool = False
    client_metadata: Metadata = Metadata()


class ModelRequest(msgspec.Struct, frozen=True):
    thread: str
    """The thread's id, or "" if the client sent none."""
    model: str
    prompt: str
    """The newest message of the user."""
    opening: str
    """The first message of the user in this thread."""
    message: int
    """How many messages the user has written, including the newest."""
    done: int
    """How many steps of the scene are finished: one more than the last step whose tool call was answered."""
    output: str
    """The outputs of that step's tools, joined."""
    tools: Mapping[str, str]
    """Name to type of every offered tool."""
    is_streamed: bool = True
    session: str = ""
    """The id of the thread that led to this one, for a sub-agent; else the thread's own."""
    turn: str = ""
    """The id of the turn, if the client says it."""


def call_id(response: str, step: int, number: int) -> str:
    """The id of a tool call. It contains the step, so the answer to the call tells how far the scene is."""
    return f"call_{response}_{step}_{number}"


def read_request(body: bytes, headers: Mapping[str, str]) -> ModelRequest:
    try:
        request = msgspec.json.decode(body, type=RequestBody)
        return _read(request, headers.get("thread-id") or headers.get("session-id") or "")
    except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
        raise Refused(f"cannot read the request: {exc}") from exc


def _read(request: RequestBody, thread: str) -> ModelRequest:
    items = request.input
    if isinstance(items, str):
        items = [InputItem(role="user", content=msgspec.Raw(msgspec.json.encode(items)))]
    prompts: list[str] = []
    outputs: list[tuple[int, str]] = []
    goal = ""
    for item in items:
        if item.type == "message" and item.role == "user":
            text = _text(item.content)
            if not text.startswith(CONTEXT_OPENINGS):
                prompts.append(f"{text}\n{goal}" if goal and text.startswith(GOAL_OPENING) else text)
                outputs = []
        elif item.type == "agent_message" and (task := _task(item.content)):
            prompts.append(task)
            outputs = []
        elif item.type.endswith("_output") and item.name == GOAL_OUTPUT:
            goal = _text(item.output)
        elif item.type.endswith("_output") and (call := _CALL_ID.fullmatch(item.call_id or "")):
            outputs.append((int(call[1]), _text(item.output)))
    last = max((step for step, _ in outputs), default=-1)
    return ModelRequest(
        thread=thread,
        model=request.model,
        prompt=prompts[-1] if prompts else "",
        opening=prompts[0] if prompts else "",
        message=len(prompts),
        done=last + 1,
        output="\n".join(text for step, text in outputs if step == last),
        tools={tool.name: tool.type for tool in request.tools if tool.name},
        is_streamed=request.stream,
        session=request.client_metadata.session_id or thread,
        turn=request.client_metadata.turn_id,
    )


def _text(raw: msgspec.Raw) -> str:
    """The text of a content list, a plain string, or the JSON itself if it is neither."""
    try:
        value = msgspec.json.decode(raw, type=str | list[ContentPart] | None)
    except msgspec.ValidationError:
        return bytes(raw).decode()
    if isinstance(value, list):
        return "\n".join(part.text for part in value if part.text)
    return value or ""


def _task(raw: msgspec.Raw) -> str:
    """What another agent asks for; nothing if it only reports something."""
    try:
        parts = msgspec.json.decode(raw, type=list[ContentPart])
    except msgspec.ValidationError:
        return ""
    return "\n".join(part.encrypted_content for part in parts if part.encrypted_content)
