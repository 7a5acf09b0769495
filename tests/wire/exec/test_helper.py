"""Messages between the exec-server and a confined helper process."""

import msgspec
from msgspec import Raw

from codex_mcp.wire.exec.helper import SIZE_BYTES, HelperRequest, HelperResponse, framed


def test_a_message_begins_with_its_size() -> None:
    content = msgspec.json.encode(HelperRequest("ReadFile", Raw(b"{}")))
    assert framed(content) == len(content).to_bytes(SIZE_BYTES, "big") + content


def test_a_response_without_an_error_has_a_result() -> None:
    assert msgspec.json.decode(b"{}", type=HelperResponse) == HelperResponse(Raw(b"null"), None)
