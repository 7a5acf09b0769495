"""Scripts are read from TOML, and every mistake in them is found when they are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.scripted_model.script import DEFAULT_MODEL, fill, parse_script
from codex_mcp.scripted_model.steps import Run, Say, ScriptError

TWO_SCENES = """
default = "second"
usage = { input = 7 }

[scenes.first]
when = "hello"
steps = [{ say = "One" }]

[scenes.second]
parameters = { cmd = "true", escalate = false, n = 3 }
steps = [{ run = "{cmd}", escalate = "{escalate}" }, { say = "{n} {unknown}" }]
"""

BAD = [
    ("x", "cannot read a.toml: not TOML: "),
    ("", "cannot use a.toml: Object missing required field `scenes`"),
    ("scenes = {}", "cannot use a.toml: it has no scene; add [scenes.NAME] with steps"),
    ("scene = 1", "cannot use a.toml: unknown key 'scene'; known keys: scenes, about, default, model, usage"),
    ("[scenes]\nx = 3", "cannot use a.toml: field 'scenes[...]': Expected `object`, got `int`"),
    ("[scenes.x]", "cannot use scene 'x' in a.toml: Object missing required field `steps`"),
    ("[scenes.x]\nsteps=[]", "cannot use scene 'x' in a.toml: it has no steps"),
    ('[scenes.x]\nwhen=1\nsteps=[{say="a"}]', "cannot use scene 'x' in a.toml: field 'when': Expected `str | null`"),
    ('[scenes.x]\nif="a"\nsteps=[{say="a"}]', "cannot use scene 'x' in a.toml: unknown key 'if'; known keys: steps,"),
    (
        '[scenes.x]\nwhen_regex="("\nsteps=[{say="a"}]',
        "scene 'x' in a.toml: field 'when_regex' is not a regular expression",
    ),
    ('[scenes."x y"]\nsteps=[{say="a"}]', "scene 'x y' in a.toml: a name consists of letters, digits, - and _"),
    ('[scenes.x]\nsteps=[{say="a"},{say=1}]', "cannot use step 2 of scene 'x' in a.toml: field 'say'"),
    ('default="y"\n[scenes.x]\nsteps=[{say="a"}]', "a.toml: there is no default scene 'y'; scenes: x"),
    ('[scenes.x]\nparameters={prompt="a"}\nsteps=[{say="a"}]', "'prompt' cannot be the name of a parameter"),
    ('[scenes.x]\nparameters={n="a"}\nsteps=[{say="a",deltas="{n}"}]', "step 1 of scene 'x' in a.toml: field 'deltas'"),
    ('[scenes.x]\nusage={tokens=1}\nsteps=[{say="a"}]', "scene 'x' in a.toml: unknown key 'tokens' in usage"),
    ('usage={tokens=1}\n[scenes.x]\nsteps=[{say="a"}]', "a.toml: unknown key 'tokens' in usage"),
    (
        '[scenes.x]\nsteps=[{say="a"},{fail=500}]',
        "step 2 of scene 'x' in a.toml: 'fail' is an HTTP status and must come",
    ),
]


def test_a_script_has_its_scenes_and_their_parameters_as_text() -> None:
    script = parse_script(TWO_SCENES, "a.toml")
    assert list(script.scenes) == ["first", "second"]
    assert script.default == "second"
    assert script.model == DEFAULT_MODEL
    assert script.usage == {"input": 7}
    assert script.scenes["second"].parameters == {"cmd": "true", "escalate": "false", "n": "3"}
    assert [scene.has_condition for scene in script.scenes.values()] == [True, False]


def test_a_step_is_filled_with_the_values_it_is_played_with() -> None:
    scene = parse_script(TWO_SCENES, "a.toml").scenes["second"]
    assert scene.step(0, {"cmd": "ls", "escalate": "true"}) == Run(run="ls", escalate=True)
    assert scene.step(1, {"n": "9"}) == Say(say="9 {unknown}")


def test_the_scene_called_default_is_the_default_and_else_the_first() -> None:
    some = '[scenes.a]\nsteps=[{say="a"}]\n'
    assert parse_script(some, "a.toml").default == "a"
    assert parse_script(some + '[scenes.default]\nsteps=[{say="a"}]', "a.toml").default == "default"


@pytest.mark.parametrize(("text", "sentence"), BAD, ids=[text for text, _ in BAD])
def test_a_wrong_script_is_refused_in_a_sentence_that_says_where_and_why(text: str, sentence: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_script(text, "a.toml")
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("cannot ")


def test_braces_that_are_no_known_placeholder_stay_as_they_are() -> None:
    command = "awk '{print $1}' ${HOME} {a,b} {} {cmd}"
    assert fill({"run": [command], "n": 1}, {"cmd": "x"}) == {"run": [command.replace("{cmd}", "x")], "n": 1}


@given(st.text(), st.dictionaries(st.text(max_size=3), st.text()))
def test_a_text_without_a_placeholder_is_never_changed(text: str, values: dict[str, str]) -> None:
    text = text.replace("{", "(")
    assert fill(text, values) == text


@given(st.text())
def test_what_is_filled_in_is_not_filled_again(value: str) -> None:
    assert fill("{a}{b}", {"a": "{b}", "b": value}) == "{b}" + value
