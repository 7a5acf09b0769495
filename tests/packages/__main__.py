"""`make packages`: build the packages, install them with every supported Python of this machine, and try them.

Unlike the test in tests/judges, it takes the dependencies from the network, because they differ between Pythons.
"""

import sys
import tempfile
from pathlib import Path

from tests.packages.packages import MORE, ROOT, UV, Workshop, pythons


def main() -> int:
    found = pythons()
    sys.stdout.write(f"Pythons found: {', '.join(found)}\n")
    with tempfile.TemporaryDirectory(prefix="codex-mcp-packages-") as folder:
        workshop = Workshop(Path(folder))
        source, wheel = workshop.build()
        for python in found:
            programs = workshop.install(wheel, python)
            workshop.try_programs(programs)
            lock = ROOT / "requirements/lock.txt"
            workshop.run([UV, "pip", "install", "--python", programs / "python", "--require-hashes", "-r", lock])
            sys.stdout.write(f"{python}: the programs work; {workshop.try_source(source, programs / 'python', MORE)}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
