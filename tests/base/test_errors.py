import pytest

from codex_mcp.base import errors


@pytest.mark.parametrize("kind", [errors.BadSetting, errors.BadOverride, errors.UnknownProfile, errors.NoCodex])
def test_every_error_for_a_person_is_caught_as_refused_and_keeps_its_sentence(kind: type[errors.Refused]) -> None:
    with pytest.raises(errors.Refused, match="cannot do it: it is late; sleep first"):
        raise kind("cannot do it: it is late; sleep first")


def test_what_to_do_is_known_apart_and_ends_the_text() -> None:
    error = errors.Refused("cannot do it: it is late; too late", "sleep first")
    assert str(error) == "cannot do it: it is late; too late; sleep first"
    assert (error.notice.problem, error.notice.fix) == ("cannot do it: it is late; too late", "sleep first")
    assert str(errors.Refused("cannot do it")) == "cannot do it"
