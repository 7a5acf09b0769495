"""The mail of this server's agents: what they send and read, and what reaches them as a turn.

In come calls of tools, ended turns and changed inboxes; out go messages (`codex_mcp.mail`) and turns. Start reading at
`team_mail.TeamMail`.
"""
