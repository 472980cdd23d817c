"""Server names: which listed machine an unknown name may mean."""

from __future__ import annotations

import difflib
import re

from gpulint.catalog.hardware import servers

_CHUNK = re.compile(r"[a-z]+|\d+")
_WORD = 5
"""Letters from which a chunk of a name is a word that can be misspelled; shorter ones and numbers tell models apart."""
_ALIKE = 0.8


def server_title(server_name: str | None, server_type: str | None = None) -> str:
    """Name of a server type as messages print it.

    server_title = server_type, else server_name

    Component: server
    Args:
        server_name: what the file calls it, else None. server_type: machine of the catalog or of the file.
    Returns:
        name

    >>> server_title("node", "dgx-h100"), server_title("console"), server_title(None)
    ('dgx-h100', 'console', 'the server')

    Source: definition.
    """
    return server_type or server_name or "the server"


def near_server_type(server_type: str, server_max_w: float | None = None, accelerator: str | None = None) -> str | None:
    """Listed server that an unknown name may mean.
    It is None if the name is listed, described in the file, or similar to no listed one.

    near_server_type = the listed name with the same letters and digits but for a slip inside a long word

    Component: server
    Args:
        server_type: name of the machine. server_max_w: its maximum power, where anything states it [W].
        accelerator: what it holds, where anything states it.
    Returns:
        name
    Validity: gb200 and gb300, a100 and h100, dl380 and dl380a are other machines: of their letters and digits none may differ.

    >>> near_server_type("poweredge-xe-9680"), near_server_type("powerege-xe9680")
    ('poweredge-xe9680', 'poweredge-xe9680')
    >>> near_server_type("dgx-gb300"), near_server_type("our-box", 3000), near_server_type("dgx-h100")
    (None, None, None)

    Source: Ratcliff and Metzener, Pattern Matching: The Gestalt Approach, Dr. Dobb's Journal, 1988.
    """
    if server_max_w is not None or accelerator is not None or servers.find_server(server_type) is not None:
        return None
    written = _split(server_type)
    listed = (
        (server.id, name) for server in servers.list_servers() for name in (server.id, f"{server.vendor} {server.id}")
    )
    return next((server_id for server_id, name in listed if _is_misspelled(written, _split(name))), None)


def _split(name: str) -> list[str]:
    return _CHUNK.findall(name.lower())


def _is_misspelled(written: list[str], listed: list[str]) -> bool:
    return len(written) == len(listed) and all(map(_is_same_word, written, listed))


def _is_same_word(written: str, listed: str) -> bool:
    long = len(listed) >= _WORD and not listed.isdigit()
    return written == listed or (long and difflib.SequenceMatcher(None, written, listed).ratio() >= _ALIKE)
