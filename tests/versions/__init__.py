"""`make codex VERSION=x`: runs the tests that use the real Codex with another version of it, and prints one table."""
