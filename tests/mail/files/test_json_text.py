import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.files.json_text import clean, decoded, encoded, value_at


@given(st.binary())
def test_every_byte_survives(data: bytes) -> None:
    assert encoded(decoded(data)) == data


@given(st.text(st.characters(blacklist_categories=())))
def test_a_cleaned_text_can_be_encoded(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    clean(text).encode()


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert clean("a\ud83eb") == "a\ufffdb"
    assert clean("🦀") == "🦀"


def test_values_that_other_decoders_refuse() -> None:
    assert value_at("9" * 5000, 0) == ("9" * 5000, 5000)
    assert value_at('"\\ud83e"', 0) == ("\ud83e", 8)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", '"a\nb"', "", "{", "[" * 200_000])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|nested|Expecting|control|Invalid"):
        value_at(text, 0)
