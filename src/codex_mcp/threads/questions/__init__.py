"""Questions of Codex to a person.

In goes a typed request of a core; out comes the answer that Codex is given. `questions` says what is asked, `decisions`
what was decided, and `approvals` how a client's answer becomes a decision and a decision an answer; `answers` does so
for questions that are listed. `board` has every question from the moment Codex asks until a day after its end.
"""
