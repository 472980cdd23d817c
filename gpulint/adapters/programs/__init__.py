"""Which program a container or a script starts, on which processes, with which arguments."""
