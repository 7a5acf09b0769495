"""The `fs/*` requests: whole files, open files in blocks, directories, trees and watches.

In: `fs/*` requests. Out: answers. `requests.py` decides where a request runs: in the event loop, in a thread or in a
confined helper (`helper_main.py`). `operations.py` does the work.
"""
