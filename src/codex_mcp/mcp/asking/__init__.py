"""How a question of Codex reaches a person, and how the answer comes back.

A `Question` goes in, a `Decision` comes out. `ladder` decides, as one table, whether to ask the client, to park the
question or to deny it; `asker` carries that out; `elicitation` has the form and the words that the person sees;
`inputs` is the way of stateless clients, which fetch questions and bring the answers. Start with `ladder`.
"""
