"""The table of all settings.

A setting is a field of the Struct of its group: core.py (also exec and log), calls.py, http.py or team.py. To add
one, add a field there and run `make settings`. Start with groups.py, which combines the groups; kinds.py has the
kinds of values, nearest.py guesses the name behind a typo. config/ loads the values.
"""
