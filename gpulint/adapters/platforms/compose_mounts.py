"""Mounts of a compose service: the folders of its container on which volumes lie."""

from __future__ import annotations

import re

from gpulint.adapters.platforms.compose_service import Service, StatedValue

VARIABLE = re.compile(r"\$\{[^{}]*\}")


def list_folders(service: Service) -> tuple[str | None, ...]:
    """Return the folders that volumes appear at; None for one that is not known."""
    further = (None,) if service.find("volumes_from") is not None else ()
    return (*(_read_folder(service, mount) for mount in service.items("volumes") if not _is_memory(mount)), *further)


def _is_memory(mount: StatedValue) -> bool:
    return isinstance(mount.value, dict) and mount.value.get("type") == "tmpfs"


def _read_folder(service: Service, mount: StatedValue) -> str | None:
    """Return the target of a mount in its long or its short form."""
    if isinstance(mount.value, dict):
        target = str(mount.value.get("target") or "")
        return target if target.startswith("/") and "$" not in target else None
    filled = service.word(mount).text
    parts = (filled if filled is not None else VARIABLE.sub("$", str(mount.value))).split(":")
    if len(parts) > 1 and parts[-1] and not parts[-1].startswith(("/", "$")):
        parts.pop()
    return parts[-1] if parts[-1].startswith("/") and "$" not in parts[-1] else None
