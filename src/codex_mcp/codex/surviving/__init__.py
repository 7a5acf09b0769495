"""A core that may outlive its server, and the server that takes it over.

The core listens on a private socket instead of reading stdin. `place` starts it there, or finds the one that an
earlier server has left; `record` says which core that was, and `proof` whether this is still the one. `link` is the
connection to it, `programs` the folder that it runs from. Start with `place`.
"""
