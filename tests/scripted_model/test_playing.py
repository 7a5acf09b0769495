"""The right scene is chosen for a request, and of it the steps that make up this response."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from codex_mcp.scripted_model.playing import DEFAULT_USAGE, Beat, Response, choose, play
from codex_mcp.scripted_model.request import ModelRequest
from codex_mcp.scripted_model.script import Script, parse_script
from codex_mcp.scripted_model.steps import Error, Fail, Run, Say, ScriptError, Think, Wait

SCRIPT = parse_script(
    """
    default = "other"
    usage = { input = 1000 }

    [scenes.by_word]
    when = "Deploy"
    steps = [{ say = "word" }]

    [scenes.by_pattern]
    when_regex = "fix (?P<what>\\\\w+)"
    steps = [{ say = "fixing {what}" }]

    [scenes.by_thread]
    thread = "t9"
    steps = [{ say = "thread" }]

    [scenes.second_reply]
    opened_with = "story"
    message = 2
    steps = [{ say = "and then" }]

    [scenes.run]
    parameters = { cmd = "true", n = 1 }
    steps = [{ say = "{cmd}", deltas = "{n}" }]

    [scenes.other]
    usage = { output = 5 }
    steps = [{ say = "{prompt}|{output}|{thread}|{nth}|{model}" }]
    """,
    "a.toml",
)


def request(prompt: str = "", **others: object) -> ModelRequest:
    plain = ModelRequest("t1", "m", prompt, prompt, message=1, done=0, output="", tools={})
    return replace(plain, **others)


def never_failed(scene: str, index: int) -> int:
    return 0


def scene(*steps: str) -> Script:
    return parse_script(f"[scenes.x]\nsteps = [{', '.join(steps)}]", "a.toml")


def steps_of(script: Script, asked: ModelRequest) -> list[object]:
    return [beat.step for beat in play(script, asked, never_failed).beats]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (request("please DEPLOY it"), "word"),
        (request("fix tests now"), "fixing tests"),
        (request("anything", thread="t9"), "thread"),
        (request("go on", opening="A Story", message=2), "and then"),
        (request("go on", opening="A story", message=3), "go on||t1|3|m"),
        (request("go on", opening="A poem", message=2), "go on||t1|2|m"),
        (request("hello", output="x"), "hello|x|t1|1|m"),
        (request("[[scene: run]]"), "true"),
        (request("Deploy [[scene: run cmd=ls]] now"), "ls"),
        (request("Deploy [[scene:other]] now"), "Deploy  now||t1|1|m"),
        (request('[[scene: run cmd="ls -l \\"a b\\" \\\\\\\\ \\n" ]]'), 'ls -l "a b" \\\\ \n'),
        (request("[[scene: run cmd={n} n=2]]"), "{n}"),
    ],
)
def test_a_scene_is_chosen_by_marker_then_by_its_conditions_and_else_by_default(asked: ModelRequest, said: str) -> None:
    [beat] = play(SCRIPT, asked, never_failed).beats
    assert isinstance(beat.step, Say)
    assert beat.step.say == said


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("[[scene: nope]]", "cannot play [[scene: nope]]: no such scene in a.toml; scenes: by_word, by_pattern"),
        ("[[scene: run x=1]]", "scene 'run' has no parameter 'x'; it has: cmd, n"),
        ("[[scene: by_word x=1]]", "scene 'by_word' has no parameter 'x'; it has: none"),
        ("[[scene: run cmd]]", "cannot read 'cmd'; write key=\"value\""),
        ('[[scene: run cmd="a]]', "cannot read 'cmd=\"a'"),
        ("[[scene: ]]", 'write [[scene: NAME key="value"]]'),
        ("[[scene: run n=many]]", "cannot use step 1 of scene 'run' in a.toml: field 'deltas'"),
    ],
)
def test_a_marker_that_cannot_be_played_is_refused_in_a_sentence(prompt: str, text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        play(SCRIPT, request(prompt), never_failed)
    assert text in str(caught.value)


def test_a_response_goes_to_the_next_tool_call_and_the_one_after_goes_on_from_there() -> None:
    script = scene('{think="a"}', '{run="b"}', '{say="c"}', '{run=["d","e"]}', "{wait=1}", '{say="f"}')
    assert steps_of(script, request()) == [Think(think="a"), Run(run="b")]
    assert steps_of(script, request(done=2)) == [Say(say="c"), Run(run=["d", "e"])]
    assert steps_of(script, request(done=4)) == [Wait(wait=1.0), Say(say="f")]
    assert steps_of(script, request(done=6)) == []


def test_steps_depend_on_what_the_tool_answered_and_can_use_it() -> None:
    script = scene(
        '{run="a"}',
        '{say="refused", if_output="rejected"}',
        '{run="b {id}", if_output="session (?P<id>\\\\d+)"}',
        '{say="ran", unless_output="rejected"}',
    )
    assert steps_of(script, request(done=1, output="rejected by user")) == [Say(say="refused", if_output="rejected")]
    [run] = steps_of(script, request(done=1, output="session 42"))
    assert isinstance(run, Run)
    assert run.run == "b 42"
    [ran] = steps_of(script, request(done=1, output="ok"))
    assert isinstance(ran, Say)
    assert ran.say == "ran"


def test_a_step_may_end_the_turn_before_the_scene_is_over() -> None:
    script = scene('{run="a"}', '{say="no", if_output="rejected", end=true}', '{say="yes"}')
    assert steps_of(script, request(done=1, output="rejected")) == [Say(say="no", if_output="rejected", end=True)]
    assert steps_of(script, request(done=1, output="ok")) == [Say(say="yes")]


def test_an_output_that_was_not_expected_ends_the_turn_with_another_text() -> None:
    script = scene('{run="a"}', '{run="b", expect="1 passed", otherwise="It still fails."}', '{say="c", expect="ok"}')
    assert steps_of(script, request(done=1, output="1 failed")) == [Say(say="It still fails.")]
    assert len(steps_of(script, request(done=1, output="1 passed"))) == 1
    assert steps_of(script, request(done=2, output="no")) == [Say(say="I expected 'ok', but the tool answered: no")]


def test_a_step_fails_as_often_as_it_says_and_then_the_scene_goes_on() -> None:
    script = scene("{fail=500, times=2}", '{error="e", times=1}', '{say="ok"}')
    failed = {0: 0, 1: 0}

    def play_now() -> tuple[Beat, ...]:
        return play(script, request(), lambda name, index: failed[index]).beats

    assert play_now() == (Beat(0, Fail(fail=500, times=2)),)
    failed[0] = 2
    assert play_now() == (Beat(1, Error(error="e", times=1)),)
    failed[1] = 1
    assert play_now() == (Beat(2, Say(say="ok")),)


def test_a_status_after_a_text_is_refused_when_conditions_hid_it_before() -> None:
    script = scene('{run="a"}', '{say="b"}', "{wait=0}", "{fail=500}")
    with pytest.raises(ScriptError, match=r"cannot play step 4 of scene 'x' in a.toml: 'fail' must come first"):
        play(script, request(done=1), never_failed)


def test_tokens_come_from_the_script_then_the_scene_then_the_step() -> None:
    other = play(SCRIPT, request("hello"), never_failed)
    assert other == Response("other", other.beats, {**DEFAULT_USAGE, "input": 1000, "output": 5})
    script = scene('{think="a", usage={reasoning=3}}', '{say="b", usage={output=4}}')
    assert play(script, request(), never_failed).usage == {**DEFAULT_USAGE, "reasoning": 3, "output": 4}


@given(st.text(), st.text(), st.integers(0, 5), st.integers(0, 9))
def test_every_prompt_gets_a_scene_or_a_sentence(before: str, inside: str, done: int, message: int) -> None:
    try:
        choice = choose(SCRIPT, request(f"{before}[[scene:{inside}]]", done=done, message=message))
    except ScriptError:
        return
    assert choice.scene.name in SCRIPT.scenes


@given(st.text())
def test_a_quoted_parameter_carries_any_text(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("]]", "]\\]")
    choice = choose(SCRIPT, request(f'[[scene: run cmd="{quoted}"]]'))
    assert choice.values["cmd"] == text
