"""Folders on the disk: scratch folders of our own, and trees of any depth. Begin with scratch."""
