"""Lists, as a command of an agent, every file and folder below a folder that this command could write."""

import os
import sys

for folder, folders, files in os.walk(sys.argv[1]):
    for path in [folder, *(os.path.join(folder, name) for name in files)]:
        if not os.path.islink(path) and os.access(path, os.W_OK):
            sys.stdout.write(f"writable: {path}\n")
    folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
