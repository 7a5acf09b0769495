"""Edits of JSON (with comments) and TOML that keep every other byte.

In: the bytes of a file, a path and a value. Out: the new bytes. Start with `documents.py`.
"""
