"""Write the tables of docs/settings.md from the table of settings: `make settings`.

The page keeps its prose. What stands between `<!-- settings: GROUP -->` and `<!-- end -->` is generated. What a setting
means is its help and the text below its field, which only the source has.
"""

import ast
import inspect
import re
from pathlib import Path

from msgspec import Struct

from codex_mcp.base.settings.groups import GROUPS, SETTINGS, values_of
from codex_mcp.base.settings.kinds import Place, Setting, with_unit
from tests.support.settings import make_settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
SECTION = re.compile(r"(<!-- settings: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
DEFAULTS = values_of(make_settings())


def generated(page: str) -> str:
    """The page with its tables as they should be."""
    return SECTION.sub(lambda found: found[1] + _table(GROUPS[found[2]]) + found[3], page)


def _table(group: type[Struct]) -> str:
    details = _texts_below_fields(group)
    rows = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for name in group.__struct_fields__:
        if setting := SETTINGS.get(name):
            meaning = " ".join(filter(None, [_sentence(setting.help), details.get(name), _names(name, setting)]))
            rows.append(f"| `{name}` | {_default(name, setting)} | {_allowed(setting)} | {_cell(meaning)} |")
    return "\n".join(rows) + "\n"


def _texts_below_fields(group: type[Struct]) -> dict[str, str]:
    body = ast.parse(inspect.getsource(group)).body[0]
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            texts[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return texts


def _names(name: str, setting: Setting) -> str:
    *short, long = setting.flags_for(name)
    flags = [*short, long] if short or setting.flag else []
    told = [f"The flag is {_listed(flags, 'or')}."] if flags else []
    told += [f"Also {_listed([*setting.variables], 'and')} in the environment."] if setting.variables else []
    return " ".join(told)


def _listed(words: list[str], last: str) -> str:
    quoted = [f"`{word}`" for word in words]
    return f" {last} ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))


def _default(name: str, setting: Setting) -> str:
    value = DEFAULTS[name]
    if setting.shown or value is None or value == ():
        return setting.shown or "none"
    if isinstance(value, bool):
        return str(value).lower()
    is_size = "bytes" in _refusal(setting)
    return (
        with_unit(value)
        if is_size and isinstance(value, int)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _allowed(setting: Setting) -> str:
    """What the error of a wrong value says is allowed; of texts and paths, nothing."""
    text = _refusal(setting)
    if found := re.search(r"from ([\d.]+) to (\d+)(.*)", text):
        least, most, more = found.groups()
        if "bytes" in text:
            least, most, more = with_unit(int(least)), with_unit(int(most)), ""
        return f"{least} to {most}{more.replace('(or 0, ', '(0: ').replace('(or 0: ', '(0: ')}"
    return text.removeprefix("one of ") if text.startswith("one of ") or text == "true or false" else ""


def _refusal(setting: Setting) -> str:
    try:
        setting.kind(object(), Place("/", "/"))
    except ValueError as error:
        return str(error)
    raise AssertionError("a kind takes anything")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
