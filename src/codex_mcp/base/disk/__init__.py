"""Folders of our own on the disk. Begin with scratch."""
