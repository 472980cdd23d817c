"""The subcommands, one module each: its `command`."""
