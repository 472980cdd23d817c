"""Version: the release of gpulint, and the address of its project."""

__version__ = "0.1.0"
PROJECT = "https://github.com/OWNER/gpulint"
