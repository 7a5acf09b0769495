"""The pages beside Fleet, Needs you and Thread: Mail, Executors, Health, Audit.

Each has a pure module with what it shows. `desk` chooses among them; `mail_forms` does what the forms of Mail ask for.
"""
