"""What a client carries for us comes back as it was, or not at all."""

import base64

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from codex_mcp.access.seal import KEY_BYTES, MAX_SEALED_CHARS, digest, seal, unseal
from tests.support.json_values import JSON_VALUES

KEY = bytes(range(KEY_BYTES))
URL_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."


def as_read(value: object) -> object:
    """JSON has no NaN and no infinity: the value as it comes back."""
    return msgspec.json.decode(msgspec.json.encode(value))


VALUES = JSON_VALUES.map(as_read)


class Carried(Struct, frozen=True):
    name: str
    number: int = 0


@given(VALUES)
def test_what_was_sealed_comes_back(value: object) -> None:
    assert unseal(KEY, "test", seal(KEY, "test", value), object) == value


@given(st.text(), st.integers(-(2**63), 2**63 - 1))
def test_it_comes_back_in_its_form(name: str, number: int) -> None:
    assert unseal(KEY, "test", seal(KEY, "test", Carried(name, number)), Carried) == Carried(name, number)


@given(VALUES)
def test_it_can_stand_in_a_header_or_an_address(value: object) -> None:
    assert set(seal(KEY, "test", value)) <= set(URL_SAFE)


@given(st.text(max_size=20), st.data())
def test_any_other_character_at_any_place_breaks_it(name: str, data: st.DataObject) -> None:
    sealed = seal(KEY, "test", Carried(name))
    place = data.draw(st.integers(0, len(sealed) - 1))
    other = data.draw(st.characters().filter(lambda character: character != sealed[place]))
    assert unseal(KEY, "test", sealed[:place] + other + sealed[place + 1 :], Carried) is None


@given(st.text(max_size=20), st.data())
def test_so_does_anything_added_or_taken_away(name: str, data: st.DataObject) -> None:
    sealed = seal(KEY, "test", Carried(name))
    place = data.draw(st.integers(0, len(sealed)))
    added = data.draw(st.text(URL_SAFE + "= \n", min_size=1, max_size=4))
    for changed in (sealed[:place] + added + sealed[place:], sealed[:place]):
        if changed != sealed:
            assert unseal(KEY, "test", changed, Carried) is None


@given(st.text(max_size=200))
def test_what_was_never_sealed_is_broken(text: str) -> None:
    assert unseal(KEY, "test", text, object) is None


def test_another_key_or_another_purpose_breaks_it() -> None:
    sealed = seal(KEY, "test", Carried("a"))
    assert unseal(bytes(KEY_BYTES), "test", sealed, Carried) is None
    assert unseal(KEY, "testing", sealed, Carried) is None


def test_a_purpose_cannot_be_moved_into_the_payload() -> None:
    """`ab` + `c…` and `a` + `bc…` would be the same bytes without something between them."""
    assert seal(KEY, "session", "x").split(".")[1] != seal(KEY, 'session"', "x").split(".")[1]


def test_what_was_sealed_in_another_form_is_broken() -> None:
    assert unseal(KEY, "test", seal(KEY, "test", ["a", "b"]), Carried) is None


def test_nobody_makes_us_hash_megabytes() -> None:
    long = seal(KEY, "test", "x" * MAX_SEALED_CHARS)
    assert unseal(KEY, "test", long, str) is None


def test_another_spelling_of_the_same_bytes_is_broken() -> None:
    payload, _, signature = seal(KEY, "test", "ab").partition(".")
    assert len(payload) % 4 != 0, "a payload whose last character has bits to spare"
    twin = next(
        payload[:-1] + last
        for last in URL_SAFE[:-1]
        if last != payload[-1]
        and base64.urlsafe_b64decode(payload[:-1] + last + "==") == base64.urlsafe_b64decode(payload + "==")
    )
    assert unseal(KEY, "test", f"{twin}.{signature}", str) is None


@given(st.dictionaries(st.text(max_size=5), st.integers(0, 9), min_size=2))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))


@given(VALUES, VALUES)
def test_values_that_differ_have_different_digests(one: object, other: object) -> None:
    assert (digest(one) == digest(other)) == (sorted_json(one) == sorted_json(other))


def sorted_json(value: object) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def test_a_signature_has_one_spelling() -> None:
    """The last character of a signature has unused bits; a text that differs only in these must not be accepted."""
    sealed = seal(KEY, "test", Carried("x"))
    others = [sealed[:-1] + char for char in URL_SAFE if char != sealed[-1]]
    for other in [*others, sealed + "=", sealed + "A"]:
        assert unseal(KEY, "test", other, Carried) is None
