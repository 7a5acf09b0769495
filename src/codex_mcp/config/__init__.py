"""Settings from flags, environment, settings files and defaults, with the source of each value.

In: a parsed command line, the environment, the working folder. Out: `Loaded`, with `Settings`, roles and warnings.
Start with `load.py`. `files.py` reads one file, `layers.py` combines several places, `trust.py` decides what an
untrusted repository may set. The table of settings is in base/settings.
"""
