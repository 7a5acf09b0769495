"""The example in NaCl's own documentation, and boxes that were changed."""

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from codex_mcp.execserver.remote.sealed_box import open_sealed_box, open_secret_box

KEY = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
NONCE = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
TEXT = bytes.fromhex(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4"
    "1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52"
    "f0a089bc76897040e082f937763848645e0705"
)
BOX = bytes.fromhex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b"
    "4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da"
    "99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"
)


def test_the_published_box_opens() -> None:
    assert open_secret_box(KEY, NONCE, BOX) == TEXT


@pytest.mark.parametrize("place", range(0, len(BOX), 13))
def test_a_changed_box_does_not_open(place: int) -> None:
    changed = bytearray(BOX)
    changed[place] ^= 1
    with pytest.raises(ValueError, match="not made for this key"):
        open_secret_box(KEY, NONCE, bytes(changed))


def test_a_box_without_room_for_a_key_and_a_tag_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        open_sealed_box(X25519PrivateKey.generate(), bytes(47))
