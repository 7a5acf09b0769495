"""Our requests to the app-server in its own spelling, and its answers in ours."""

import msgspec
import pytest

from codex_mcp.wire.app import requests
from codex_mcp.wire.app.items import Turn


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (
            requests.Initialize(requests.ClientInfo("us", "Us", "1"), requests.ClientCapabilities()),
            {
                "clientInfo": {"name": "us", "title": "Us", "version": "1"},
                "capabilities": {
                    "experimentalApi": True,
                    "requestAttestation": False,
                    "optOutNotificationMethods": [],
                },
            },
        ),
        (requests.ThreadStart(), {}),
        (
            requests.ThreadStart(cwd="/x", approval_policy="never", config={"a.b": 1}, experimental_raw_events=True),
            {"cwd": "/x", "approvalPolicy": "never", "config": {"a.b": 1}, "experimentalRawEvents": True},
        ),
        (
            requests.ThreadResume("t", exclude_turns=True, base_instructions="Be brief."),
            {"threadId": "t", "excludeTurns": True, "baseInstructions": "Be brief."},
        ),
        (
            requests.TurnStart(
                "t", [requests.TextInput("hi"), requests.ImageInput("data:"), requests.LocalImageInput("/x")]
            ),
            {
                "threadId": "t",
                "input": [
                    {"type": "text", "text": "hi"},
                    {"type": "image", "url": "data:"},
                    {"type": "localImage", "path": "/x"},
                ],
            },
        ),
        (
            requests.TurnStart("t", [], output_schema={"type": "object"}),
            {"threadId": "t", "input": [], "outputSchema": {"type": "object"}},
        ),
        (requests.TurnInterrupt("t", "u"), {"threadId": "t", "turnId": "u"}),
        (requests.InjectItems("t", [{"type": "message"}]), {"threadId": "t", "items": [{"type": "message"}]}),
        (requests.TerminateTerminal("t", "5"), {"threadId": "t", "processId": "5"}),
        (requests.ThreadId("t"), {"threadId": "t"}),
        (requests.AccountRead(), {"refreshToken": False}),
    ],
)
def test_a_request_holds_what_was_given_and_nothing_else(value: object, wire: dict[str, object]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value)) == wire


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"userAgent": "codex/1", "codexHome": "/h", "new": 1}', requests.Initialized("codex/1", "/h")),
        ("{}", requests.Initialized()),
        ('{"thread": {"id": "t", "more": 1}, "cwd": "/x"}', requests.ThreadOpened(requests.Thread("t"), "/x")),
        ('{"turn": {"id": "u", "status": "inProgress"}}', requests.TurnStartResponse(Turn("u"))),
        ('{"account": null, "requiresOpenaiAuth": true}', requests.Account(None, requires_openai_auth=True)),
    ],
)
def test_an_answer_is_read_and_what_we_do_not_know_is_ignored(text: str, value: object) -> None:
    assert msgspec.json.decode(text, type=type(value)) == value
