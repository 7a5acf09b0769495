import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.wire.exec.base64 import BadBase64, decode_base64, encode_base64, encode_base64_bytes


@given(st.binary())
def test_what_is_encoded_is_decoded_to_the_same_bytes(data: bytes) -> None:
    assert encode_base64(data) == base64.b64encode(data).decode()
    assert encode_base64_bytes(data) == base64.b64encode(data)
    assert decode_base64(encode_base64(data)) == data


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("aGVsbG8", "Invalid padding"),
        ("aGVs\nbG8=", "Invalid symbol 10, offset 4."),
        ("__-_", "Invalid symbol 95, offset 0."),
        ("aGVsbG9=", "Invalid last symbol 57, offset 6."),
        ("YR==", "Invalid last symbol 82, offset 1."),
        ("@@@", "Invalid symbol 64, offset 0."),
        ("é", "Invalid symbol 195, offset 0."),
        ("=", "Invalid padding"),
        ("A", "Invalid padding"),
    ],
)
def test_what_is_no_base64_is_refused_in_the_words_of_the_real_server(text: str, why: str) -> None:
    with pytest.raises(BadBase64) as caught:
        decode_base64(text)
    assert str(caught.value) == why


@given(st.text())
def test_any_other_text_is_refused_or_is_the_only_text_of_its_bytes(text: str) -> None:
    with contextlib.suppress(BadBase64):
        assert encode_base64(decode_base64(text)) == text
