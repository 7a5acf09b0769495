"""Codex conversations. Prompts go in; outcomes, events and questions come out.

`threads` owns the core and all open threads. A `thread` runs its turns one by one, as `turn_queue` decides; `record`
adds up what a `turn` has done; `stopping` ends a turn with its processes. `open_questions` holds questions until they
are decided; `news` and `changes` serve callers that wait. `limits/` shares the core between principals, `questions/`
decodes and answers what Codex asks. Start with `threads.Threads.start`, then `thread.Thread.submit`.
"""
