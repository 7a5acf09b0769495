import pytest

from codex_mcp.conversations.inputs import local_images, turn_of
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.app.requests import ImageInput, LocalImageInput, TextInput

DATA = "data:image/png;base64,AA=="


@pytest.mark.parametrize(
    ("item", "part"),
    [
        ({"type": "text", "text": "hi"}, TextInput("hi")),
        ({"type": "text", "data": {"text": "hi"}}, TextInput("hi")),
        ({"type": "image", "data": {"image_url": DATA}}, ImageInput(DATA)),
        ({"type": "image", "data": {"imageUrl": DATA}}, ImageInput(DATA)),
        ({"type": "image", "url": DATA}, ImageInput(DATA)),
        ({"type": "image", "image_url": DATA}, ImageInput(DATA)),
        ({"type": "localImage", "data": {"path": "/pictures/a.png"}}, LocalImageInput("/pictures/a.png")),
        ({"type": "localImage", "path": "a.png"}, LocalImageInput("/folder/a.png")),
        ({"type": "local_image", "path": "a.png"}, LocalImageInput("/folder/a.png")),
    ],
)
def test_every_documented_spelling_of_an_item_is_understood(item: dict[str, object], part: object) -> None:
    assert turn_of([item], "/folder").parts == (part,)


def test_parts_keep_their_order_and_texts_make_the_prompt() -> None:
    spec = turn_of(
        [{"type": "text", "text": "a"}, {"type": "localImage", "path": "/b"}, {"type": "text", "text": "c"}], "/"
    )
    assert spec.prompt == "a\nc"
    assert spec.images == ("/b",)
    assert local_images(spec) == ["/b"]
    assert [type(part) for part in spec.parts] == [TextInput, LocalImageInput, TextInput]


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({}, "its type must be text, image or localImage"),
        ({"type": "video"}, "its type must be text, image or localImage"),
        ({"type": "text"}, "it needs the text text"),
        ({"type": "text", "text": 1}, "it needs the text text"),
        ({"type": "text", "data": "x"}, "its data must be an object"),
        ({"type": "image", "url": "file:///etc/passwd"}, "the URL of an image must begin with http:, https: or data:"),
    ],
)
def test_a_wrong_item_is_named(item: dict[str, object], why: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        turn_of([{"type": "text", "text": "fine"}, item], "/")
    assert caught.value.error.code == -32602
    assert caught.value.error.message == f"Invalid params: items[1]: {why}"


def test_a_message_without_items_is_refused() -> None:
    with pytest.raises(RequestFailed, match="items must not be empty"):
        turn_of([], "/")
