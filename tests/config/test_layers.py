import pytest

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings.kinds import Place, Sandbox
from codex_mcp.config.layers import Layer, RawTable, Sourced, checked, combined, combined_roles
from codex_mcp.team.profile.roles import Role

PLACE = Place("/repo", "/home/me")


def layer(source: str, **values: object) -> Layer:
    return Layer({name: Sourced(value, source) for name, value in values.items()}, PLACE)


def test_the_later_one_wins_and_is_remembered() -> None:
    layers = [layer("low", team="a", start_timeout=1), layer("high", team="b")]
    assert combined(layers) == {"team": Sourced("b", "high"), "start_timeout": Sourced(1.0, "low")}


def test_lists_add_up() -> None:
    layers = [layer("low", overrides=["a=1"]), layer("high", overrides="b=2\nc=3")]
    assert combined(layers) == {"overrides": Sourced(("a=1", "b=2", "c=3"), "low, high")}


def test_a_value_that_is_overruled_must_be_right_too() -> None:
    with pytest.raises(BadSetting, match="cannot use team = 3 from low: it must be a name"):
        combined([layer("low", team=3), layer("high", team="b")])


def test_a_relative_path_belongs_to_its_place() -> None:
    assert checked("scripted", Sourced("x", "file"), PLACE) == Sourced("/repo/x", "file")


def test_a_role_is_laid_over_the_one_below_and_keeps_its_restrictions() -> None:
    low = Layer({}, PLACE, {"r": RawTable({"sandbox": "read-only", "model": "a"}, "low"), "s": RawTable({}, "low")})
    high = Layer({}, PLACE, {"r": RawTable({"model": "b"}, "high")})
    assert combined_roles([low, high]) == {
        "r": Sourced(Role(sandbox=Sandbox.READ_ONLY, model="b"), "low, high"),
        "s": Sourced(Role(), "low"),
    }


def test_a_wrong_role_is_named_with_its_place() -> None:
    with pytest.raises(BadSetting, match=r"cannot use sandbox = 'none' of the role r in file:3: it must be one of"):
        combined_roles([Layer({}, PLACE, {"r": RawTable({"sandbox": "none"}, "file:3")})])
    with pytest.raises(BadSetting, match=r"cannot use sandbox = 'none' of the role r in file:5: it must be one of"):
        combined_roles([Layer({}, PLACE, {"r": RawTable({"sandbox": "none"}, "file:3", {"sandbox": "file:5"})})])
