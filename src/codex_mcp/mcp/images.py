"""Pictures that come with a prompt: checked before an agent is asked to look at them."""

from __future__ import annotations

import os
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import LONGEST_IMAGE

URL_SCHEMES: Final = ("http:", "https:", "data:")


def checked_image(image: str, cwd: str) -> str:
    """A URL, or the path of a file that can be read. Raises Refused."""
    if image.startswith(URL_SCHEMES):
        return image
    path = os.path.join(cwd, image)
    if not os.path.isfile(path):
        raise Refused(f"cannot read the image `{image}`: {path} is no file; give a path or an http, https or data URL")
    if not os.access(path, os.R_OK):
        raise Refused(
            f"cannot read the image `{image}`: {path} is not readable for this server; change its permissions"
        )
    if os.path.getsize(path) > LONGEST_IMAGE:
        raise Refused(f"cannot read the image `{image}`: {path} is longer than {LONGEST_IMAGE} bytes; make it smaller")
    return path
