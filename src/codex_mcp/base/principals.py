"""Pure. Principals: the clients that a server tells apart."""

from __future__ import annotations

from typing import Final

LOCAL: Final = "local"
"""The principal of clients that need no token: over stdio, or over HTTP on a server without tokens."""
