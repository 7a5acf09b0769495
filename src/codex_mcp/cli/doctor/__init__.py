"""`codex-mcp doctor`: what would keep agents from working here, and how to put it right.

`gathering` and `core_facts` collect `facts` from the machine. The pure modules `checks` and `client_checks` judge them:
each judgement is a `Finding` with a level and a fix. `report` shows the findings. To add a check, add its facts, gather
them, and judge them. Start reading at `cmd_doctor`.
"""
