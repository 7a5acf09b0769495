"""What every package may use: errors, files, logs, tasks, futures, timestamps. It imports nothing of ours.

`settings/` describes every setting, `secrets/` masks secrets in text, `processes/` finds and ends processes.
"""
