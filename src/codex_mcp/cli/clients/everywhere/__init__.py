"""What concerns the files of all clients: the servers in them (`reading`) and `install --list`."""
