"""Our requests to the app-server in its own spelling, and its answers in ours."""

import msgspec
import pytest

from codex_mcp.wire import appserver


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (
            appserver.Initialize(appserver.ClientInfo("us", "Us", "1"), appserver.ClientCapabilities()),
            {
                "clientInfo": {"name": "us", "title": "Us", "version": "1"},
                "capabilities": {
                    "experimentalApi": True,
                    "requestAttestation": False,
                    "optOutNotificationMethods": [],
                },
            },
        ),
        (appserver.ThreadStart(), {}),
        (
            appserver.ThreadStart(cwd="/x", approval_policy="never", config={"a.b": 1}, experimental_raw_events=True),
            {"cwd": "/x", "approvalPolicy": "never", "config": {"a.b": 1}, "experimentalRawEvents": True},
        ),
        (
            appserver.ThreadResume("t", exclude_turns=True, base_instructions="Be brief."),
            {"threadId": "t", "excludeTurns": True, "baseInstructions": "Be brief."},
        ),
        (
            appserver.TurnStart(
                "t", [appserver.TextInput("hi"), appserver.ImageInput("data:"), appserver.LocalImageInput("/x")]
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
            appserver.TurnStart("t", [], output_schema={"type": "object"}),
            {"threadId": "t", "input": [], "outputSchema": {"type": "object"}},
        ),
        (appserver.TurnInterrupt("t", "u"), {"threadId": "t", "turnId": "u"}),
        (appserver.InjectItems("t", [{"type": "message"}]), {"threadId": "t", "items": [{"type": "message"}]}),
        (appserver.TerminateTerminal("t", "5"), {"threadId": "t", "processId": "5"}),
        (appserver.ThreadId("t"), {"threadId": "t"}),
        (appserver.AccountRead(), {"refreshToken": False}),
    ],
)
def test_a_request_holds_what_was_given_and_nothing_else(value: object, wire: dict[str, object]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value)) == wire


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"userAgent": "codex/1", "codexHome": "/h", "new": 1}', appserver.Initialized("codex/1", "/h")),
        ("{}", appserver.Initialized()),
        ('{"thread": {"id": "t", "more": 1}, "cwd": "/x"}', appserver.ThreadOpened(appserver.Thread("t"), "/x")),
        ('{"turn": {"id": "u", "status": "inProgress"}}', appserver.TurnStartResponse(appserver.Turn("u"))),
        ('{"threadId": "t", "turn": {}}', appserver.Scope("t")),
        ('{"threadId": null}', appserver.Scope(None)),
        ('{"account": null, "requiresOpenaiAuth": true}', appserver.Account(None, requires_openai_auth=True)),
    ],
)
def test_an_answer_is_read_and_what_we_do_not_know_is_ignored(text: str, value: object) -> None:
    assert msgspec.json.decode(text, type=type(value)) == value
