"""Which versions of Codex are fit to be the core: measured by us, or tried on the user's machine.

Start with `measured`, the table of versions that our own tests ran with. `contract` compares what we rely on with the
schema that a Codex generates of itself; `verdicts` remembers what came of trying a Codex here.
"""
