"""A prompt's front matter, arguments and text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.prompts.template import MissingArgument, Prompt, parsed

ANY = st.text(max_size=30)
NAME = st.from_regex(r"[A-Z][A-Z0-9_]{0,6}", fullmatch=True).filter(lambda name: name != "ARGUMENTS")


def filled(body: str, **arguments: str) -> str:
    return Prompt("p", body).filled({name.removeprefix("n"): value for name, value in arguments.items()})


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("Hello.", {}, "Hello."),
        ("Hello $NAME!", {"NAME": "Ada"}, "Hello Ada!"),
        ("$1 and $2", {"n1": "one", "n2": "two"}, "one and two"),
        ("$1 and $2", {"n1": "one"}, "one and "),
        (
            "$1, $2: $ARGUMENTS",
            {"ARGUMENTS": 'first "the second" third'},
            'first, the second: first "the second" third',
        ),
        ("$ARGUMENTS", {"n2": "b", "n1": "a"}, "a b"),
        ("$1", {"ARGUMENTS": "a b", "n1": "given"}, "given"),
        ("$ARGUMENTS", {}, ""),
        ("$$1 costs $$NAME", {}, "$1 costs $NAME"),
        ("$name $ 5$ $0 ${NAME}", {}, "$name $ 5$ $0 ${NAME}"),
        ("$12", {"n1": "x"}, "x2"),
        ("$A", {"A": "$B $1 $$"}, "$B $1 $$"),
    ],
)
def test_placeholders_are_filled_in_once(body: str, arguments: dict[str, str], text: str) -> None:
    assert filled(body, **arguments) == text


def test_named_arguments_are_required_and_others_are_not() -> None:
    prompt = Prompt("p", "$B $2 $A $ARGUMENTS $1 $B $$C")
    assert prompt.arguments == ["1", "2", "B", "A", "ARGUMENTS"]
    assert [name for name in prompt.arguments if prompt.is_required(name)] == ["B", "A"]
    with pytest.raises(MissingArgument, match="the prompt p needs the argument B, A"):
        prompt.filled({"1": "x"})


def test_the_front_matter_describes_the_prompt() -> None:
    prompt = parsed("p", "---\ndescription: Say  it\nargument-hint: [FILE=<path>] [FOCUS]\n---\n\nSay $FILE.\n")
    assert (prompt.description, prompt.hint, prompt.body) == ("Say it", "[FILE=<path>] [FOCUS]", "Say $FILE.")


@pytest.mark.parametrize(
    ("text", "description", "body"),
    [
        ('---\ndescription: "Quoted: yes"\n---\nx', "Quoted: yes", "x"),
        ("---\r\ndescription: windows\r\n---\r\nx\r\n", "windows", "x"),
        ("one\r\ntwo\rthree\r\n", "", "one\ntwo\nthree"),
        ("---\ndescription: |\n\n  First: yes\n  description: no\nother: x\n---\nx", "First: yes", "x"),
        ("---\ndescription: >-\nother: x\n---\nx", "", "x"),
        ("---\n---\nx", "", "x"),
        ("---\nno colon\n# a: comment\n\n---\nx", "", "x"),
        ("---\ndescription: no end\n", "", "---\ndescription: no end"),
        ("x\n---\ndescription: late\n---\n", "", "x\n---\ndescription: late\n---"),
        ("\ufeff---\nDescription: marked\n---\nx", "marked", "x"),
        ("", "", ""),
    ],
)
def test_a_front_matter_is_read_line_by_line(text: str, description: str, body: str) -> None:
    prompt = parsed("p", text)
    assert (prompt.description, prompt.body) == (description, body)


@given(ANY)
def test_any_text_is_a_prompt(text: str) -> None:
    assert parsed("p", text).body in text.replace("\r\n", "\n").replace("\r", "\n")


@given(ANY)
def test_a_text_without_dollars_stays_as_it_is(text: str) -> None:
    body = text.replace("$", "")
    assert Prompt("p", body).filled({"A": "x", "1": "y"}) == body


@given(st.text("$A1_ aZ", max_size=20), st.dictionaries(NAME | st.sampled_from("123456789"), ANY))
def test_a_prompt_with_all_its_required_arguments_can_always_be_filled(body: str, arguments: dict[str, str]) -> None:
    prompt = Prompt("p", body)
    assert isinstance(prompt.filled(dict.fromkeys(prompt.arguments, "v") | arguments), str)


@given(ANY, st.dictionaries(NAME, ANY))
def test_what_is_escaped_comes_out_as_it_was(text: str, arguments: dict[str, str]) -> None:
    prompt = Prompt("p", text.replace("$", "$$"))
    assert prompt.arguments == []
    assert prompt.filled(arguments) == text
