"""The files that several programs write: JSON arrays edited in place, both locks, atomic replacement.

`records` and `members` are pure and keep every byte that they do not change; `locks` and `rewriting` use the disk.
Start with `rewriting`.
"""
