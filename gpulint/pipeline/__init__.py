"""Where the stages meet: a session checks files and makes one report."""
