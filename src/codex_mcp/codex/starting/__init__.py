"""What surrounds the start of a core: turns between servers, a guard against what it leaves, its own git.

Start reading at `first_start`; `supervisor` and `launch` of the package above use these modules.
"""
