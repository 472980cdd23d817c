"""Version: the release of gpulint, and its addresses, which stay empty until the project has them."""

__version__ = "0.1.0"
PROJECT = ""
"""The address of the repository, without a slash at its end: hooks, SARIF and the documentation lead to it."""
SITE = ""
"""The address of the documentation, without a slash at its end: reports link each rule to its page there."""
