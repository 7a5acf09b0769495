"""The packages that users install work outside of the repository, with their dependencies, on the Python of this
environment. `make packages` tries every Python of the machine."""

import re
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from codex_mcp import __version__
from hatch_build import readme_for_indexes
from tests.packages.packages import ROOT, Workshop
from tests.packages.wheelhouse import needed, pack
from tests.support.patience import PATIENCE
from tests.test_house_rules import tracked_files

RELATIVE = re.compile(r"""\]\((?!\w+:|#)|(?:src|href)="(?!\w+:|#)""")


pytestmark = pytest.mark.timeout(10 * PATIENCE)  # builds and installs: half a minute on a quiet machine

PYTHON: str = sys._base_executable  # type: ignore[attr-defined]  # the system's; ours would show it our packages


@dataclass(frozen=True, slots=True)
class Built:
    """What was built, and the programs of its installation."""

    workshop: Workshop
    source: Path
    wheel: Path
    programs: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A workshop with the wheels of all that we, and the program that builds us, need."""
    folder = tmp_path_factory.mktemp("packages")
    wheels = folder / "wheels"
    wheels.mkdir()
    for name in sorted(needed(["codex-mcp", "hatchling"]) - {"codex-mcp"}):
        pack(name, wheels)
    workshop = Workshop(folder, wheels)
    source, wheel = workshop.build()
    return Built(workshop, source, wheel, workshop.install(wheel, PYTHON))


def test_the_source_distribution_holds_every_file_of_the_repository(built: Built) -> None:
    tracked = {str(path.relative_to(ROOT)) for path in tracked_files()} - {".gitignore"}
    assert sorted(tracked - {str(path.relative_to(built.source)) for path in built.source.rglob("*")}) == []


def test_no_link_of_the_readme_on_a_package_index_is_relative(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as packed:
        (metadata,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        text = packed.read(metadata).decode()
    assert "/docs/install.md)" in text
    assert RELATIVE.findall(text) == []


def test_uvx_runs_the_source_distribution(built: Built) -> None:
    assert built.workshop.uvx(built.source, PYTHON, "codex-mcp", "--version") == f"codex-mcp {__version__}\n"


def test_the_installed_programs_work(built: Built) -> None:
    built.workshop.try_programs(built.programs)


def test_the_source_distribution_passes_its_tests(built: Built) -> None:
    # The tests need pytest and others, which this environment has. Its own links to the repository do not count there.
    (site,) = (built.programs.parent / "lib").glob("python*/site-packages")
    (site / "for-tests.pth").write_text(sysconfig.get_path("purelib"))
    assert re.search(r"^\d+ passed", built.workshop.try_source(built.source, built.programs / "python"))


def test_relative_links_of_the_readme_lead_to_the_files_of_the_release() -> None:
    text = "[a](docs/a.md#b) ![p](docs/p.svg) [here](#read-on) [there](https://example.org/x) [mail](mailto:a@b.c)"
    base = "https://example.org/us"
    assert readme_for_indexes(text, base, "v1") == (
        f"[a]({base}/blob/v1/docs/a.md#b) ![p]({base}/raw/v1/docs/p.svg) [here](#read-on) "
        "[there](https://example.org/x) [mail](mailto:a@b.c)"
    )
