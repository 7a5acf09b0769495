"""Turns that an earlier server has left in a core that outlived it, and how their threads go on here.

`turns` is what was written of them, and what became of each; `taking_back` gives them to their thread again, and
`rejoining` opens that thread. Start with `turns`.
"""
