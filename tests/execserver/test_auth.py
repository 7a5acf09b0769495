import base64
import hashlib
import hmac
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.auth import CapabilityToken, SignedToken

SECRET = b"0123456789abcdef0123456789abcdef"
NOW = 1_000_000


def part(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(claims: object, alg: str = "HS256", secret: bytes = SECRET) -> str:
    signed = f"{part({'alg': alg, 'typ': 'JWT'})}.{part(claims)}"
    return f"Bearer {signed}.{part(hmac.digest(secret, signed.encode(), 'sha256'))}"


def refusal(header: str | None, issuer: str | None = None, audience: str | None = None) -> str | None:
    return SignedToken(SECRET, issuer, audience, 30).refusal(header, NOW)


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (None, "missing websocket bearer token"),
        ("", "invalid authorization header"),
        ("Basic abc", "invalid authorization header"),
        ("Bearer", "invalid authorization header"),
        ("Bearer a b", "invalid authorization header"),
        ("Bearer wrong", "invalid websocket bearer token"),
        ("Bearer secret", None),
        ("bEaReR secret", None),
    ],
)
def test_only_the_token_itself_opens(header: str | None, why: str | None) -> None:
    assert CapabilityToken(hashlib.sha256(b"secret").hexdigest()).refusal(header) == why


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": NOW + 1}, None),
        ({"exp": NOW - 29}, None),
        ({"exp": NOW - 31}, "expired websocket jwt"),
        ({}, "invalid websocket jwt"),
        ({"exp": "tomorrow"}, "invalid websocket jwt"),
        ({"exp": True}, "invalid websocket jwt"),
        ({"exp": NOW, "nbf": NOW + 29}, None),
        ({"exp": NOW, "nbf": NOW + 31}, "websocket jwt is not valid yet"),
        ({"exp": NOW, "nbf": "x"}, "invalid websocket jwt"),
        ([], "invalid websocket jwt"),
    ],
)
def test_a_signed_token_is_good_for_its_time(claims: object, why: str | None) -> None:
    assert refusal(jwt(claims)) == why


@pytest.mark.parametrize(
    "claims",
    [
        *('{"exp": 2000000.5}', '{"exp": 2000000.0}', '{"exp": 2e6}', '{"exp": 9223372036854775808}', '{"exp": 1e400}'),
        *('{"exp": Infinity}', '{"exp": NaN}', '{"exp": null}', '{"exp": 1, "exp": 2000000}'),
        *('{"exp": 2000000, "nbf": 1.5}', '{"exp": 2000000, "nbf": -9223372036854775809}'),
        *('{"exp": 2000000, "iss": 5}', '{"exp": 2000000, "aud": 5}', '{"exp": 2000000, "aud": ["you", 5]}'),
    ],
)
def test_claims_that_codex_does_not_take_are_refused(claims: str) -> None:
    assert refusal(jwt(claims.encode())) == "invalid websocket jwt"


def test_the_largest_time_is_taken() -> None:
    assert refusal(jwt({"exp": 2**63 - 1, "nbf": -(2**63)})) is None


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_part_has_one_spelling(number: int) -> None:
    parts = jwt({"exp": NOW}).removeprefix("Bearer ").split(".")
    assert refusal("Bearer " + ".".join(parts)) is None
    padded = [text + "=" * (-len(text) % 4 or 4) if at == number else text for at, text in enumerate(parts)]
    assert refusal("Bearer " + ".".join(signed_again(padded, number))) == "invalid websocket jwt"


def test_bits_of_a_signature_that_mean_nothing_must_be_zero() -> None:
    token = jwt({"exp": NOW})
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    assert refusal(token[:-1] + alphabet[alphabet.index(token[-1]) | 1]) == "invalid websocket jwt"


def signed_again(parts: list[str], changed: int) -> list[str]:
    """The parts with a signature that fits, if one of the signed ones was changed."""
    if changed == 2:
        return parts
    return [*parts[:2], part(hmac.digest(SECRET, ".".join(parts[:2]).encode(), "sha256"))]


def test_issuer_and_audience_must_match_if_they_are_asked_for() -> None:
    claims = {"exp": NOW, "iss": "me", "aud": ["you", "them"]}
    assert refusal(jwt(claims), issuer="me", audience="you") is None
    assert refusal(jwt(claims | {"aud": "you"}), audience="you") is None
    assert refusal(jwt(claims), issuer="other") == "websocket jwt issuer mismatch"
    assert refusal(jwt(claims), audience="other") == "websocket jwt audience mismatch"
    assert refusal(jwt({"exp": NOW}), audience="you") == "websocket jwt audience mismatch"


@pytest.mark.parametrize("alg", ["none", "HS512", "RS256", ""])
def test_no_other_signature_counts(alg: str) -> None:
    assert refusal(jwt({"exp": NOW}, alg)) == "invalid websocket jwt"


def test_a_signature_with_another_secret_does_not_count() -> None:
    assert refusal(jwt({"exp": NOW}, secret=b"x" * 32)) == "invalid websocket jwt"


@given(st.text())
def test_no_text_breaks_the_check(text: str) -> None:
    assert refusal(f"Bearer {text}") is not None


@given(st.lists(st.binary(), min_size=3, max_size=3))
def test_no_three_parts_break_the_check(parts: list[bytes]) -> None:
    assert refusal("Bearer " + ".".join(part(value) for value in parts)) == "invalid websocket jwt"
