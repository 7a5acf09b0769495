"""Lists, as a command of an agent, every file and folder below a folder that this command could write.

A socket can be connected to on a disk that is read-only: who may is for its listener to say (`access.peers`).
"""

import os
import stat
import sys

for folder, folders, files in os.walk(sys.argv[1]):
    for path in [folder, *(os.path.join(folder, name) for name in files)]:
        if not os.path.islink(path) and os.access(path, os.W_OK) and not stat.S_ISSOCK(os.stat(path).st_mode):
            sys.stdout.write(f"writable: {path}\n")
    folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
