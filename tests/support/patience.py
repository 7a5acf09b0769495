"""How long tests wait before they take a wait for a hang. Slow machines get more with CODEX_MCP_TEST_PATIENCE."""

import os

SCALE = float(os.environ.get("CODEX_MCP_TEST_PATIENCE", "1"))
"""2 doubles every limit."""

PATIENCE = 30.0 * SCALE
"""Seconds for anything that a test waits for. Only a failing test waits that long."""
