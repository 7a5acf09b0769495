import msgspec
import pytest

from codex_mcp.wire.conversations import (
    AuthStatus,
    ConversationList,
    ExecOneOffCommand,
    NewConversation,
    SendUserTurn,
    UserInfo,
)


def test_names_are_camel_case_and_unknown_fields_are_ignored() -> None:
    params = msgspec.json.decode(b'{"approvalPolicy": "never", "somethingNew": 1}', type=NewConversation)
    assert params == NewConversation(approval_policy="never")
    assert msgspec.json.decode(b'{"command": ["ls"], "timeoutMs": null}', type=ExecOneOffCommand).timeout_ms is None


def test_what_is_not_known_is_left_out() -> None:
    assert msgspec.to_builtins(AuthStatus(requires_openai_auth=False)) == {"requiresOpenaiAuth": False}
    assert msgspec.to_builtins(ConversationList([])) == {"items": []}
    assert msgspec.to_builtins(UserInfo()) == {"allegedUserEmail": None}


@pytest.mark.parametrize("given", [b"{}", b"[]", b'{"conversationId": 1}', b'{"approvalPolicy": "sometimes"}'])
def test_what_a_turn_needs_is_required(given: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(given, type=SendUserTurn)
