"""Confinement of processes and file requests, with bubblewrap, mounts and a system call filter.

In: a command or a file request with its `sandbox` object. Out: a command line that enforces it, an answer from a
confined helper process, or a refusal. Nothing runs with fewer limits than requested. Start at `confinement.py`.
`policy.py` reads the object, `mounts.py` looks at the disk, `bubblewrap.py` and `seccomp.py` produce what enforces it.
"""
