"""Version: the release of gpulint."""

__version__ = "0.1.0"
