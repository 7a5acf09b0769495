"""The page of one thread: its transcript, its diff, and what a person does with it.

Start with `routes`. `conversation` keeps what its server tells, `transcript` puts it in order, `page` says
what is shown.
"""
