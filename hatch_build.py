"""The README as package indexes show it: there a relative link leads nowhere."""

import json
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!\w+:|#)([^)\s]+\))")
PICTURE = re.compile(r'(<img src=")(?!\w+:)')


def readme_for_indexes(text: str, repository: str, tag: str) -> str:
    """The text with links to the files of this release."""

    def absolute(link: re.Match[str]) -> str:
        view = "raw" if link[1] else "blob"
        return f"{link[1]}{link[2]}{repository}/{view}/{tag}/{link[3]}"

    return PICTURE.sub(rf"\g<1>{repository}/raw/{tag}/", LINK.sub(absolute, text))


class ReadmeHook(MetadataHookInterface):
    """Called by hatchling for every build."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        server = json.loads((root / "server.json").read_text(encoding="utf-8"))
        text = (root / "README.md").read_text(encoding="utf-8")
        text = readme_for_indexes(text, metadata["urls"]["Repository"], f"v{metadata['version']}")
        # By this line the MCP registry recognises the package that server.json names.
        text += f"\n<!-- mcp-name: {server['name']} -->\n"
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
