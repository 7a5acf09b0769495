"""`make timing`: how long the path from `git clone` to an agent's answer in Claude Code takes."""
