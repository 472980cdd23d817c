"""CPU-only programs and images: they compute nothing on a GPU, whatever they are given."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.adapters.programs import launchers
from gpulint.engines import Argument, Invocation, image_tags
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin

PROGRAMS = frozenset(
    {
        *("curl", "wget", "aws", "gsutil", "gcloud", "azcopy", "rclone", "s5cmd", "git", "git-lfs", "kubectl", "helm"),
        *(
            "huggingface-cli",
            "hf",
            "pip",
            "pip3",
            "redis-server",
            "envoy",
            "haproxy",
            "traefik",
            "litellm",
            "rsync",
            "tar",
        ),
    }
)
BESIDE = frozenset({"echo", "set", "cd", "export", "mkdir", "chmod", "chown", "ls", "true", "exit", "date", "printf"})
"""Shell commands around others that do not show what a container is for."""
IMAGES = re.compile(
    r"(?:^|/)(?:curlimages/curl|(?:(?:library|bitnami)/)?(?:redis|postgres|postgresql|haproxy|traefik|memcached)"
    r"|berriai/litellm(?:-database)?|open-webui/open-webui|envoyproxy/envoy|prom/prometheus|grafana/grafana"
    r"|lmcache/lmstack-router)(?::(?P<tag>[\w.-]*))?(?:@\S+)?$"
)
"""Proxies, stores, web pages and meters.

A placeholder in scheduling examples (pause, nginx, busybox) holds a GPU on purpose.
"""
WAITS = frozenset({"sleep", "tail", "pause"})
"""Programs that end after a time, or never, and compute nothing."""
DURATION = re.compile(r"sleep (?P<number>\d{1,9}(?:\.\d{1,9})?)(?P<unit>[smhd]?)")
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
"""The suffixes of sleep (GNU coreutils)."""
DAY_S = 86_400
PLACEHOLDERS = re.compile(
    r"busybox|alpine|ubuntu|debian|ubi\d*(?:-minimal)?|centos|fedora|agnhost|pause|nginx|cuda|cuda-sample"
)
"""Images of examples of scheduling, which hold GPUs on purpose: they have no program that computes on one."""
STARTED_FROM_OUTSIDE = ("MPIJob", "LeaderWorkerSet")
"""Objects whose launcher starts programs in containers that only wait."""
BUILT_FOR_GPUS = re.compile(r"cuda|gpu|ollama")
"""open-webui's own builds that run models: :cuda and :ollama."""


def fields(document: Document, path: Path, invocations: Sequence[Invocation]) -> dict[str, Field]:
    """Return the CPU-only program of a container that requests a GPU; nothing if any part may use
    one.
    """
    commands = [invocation for invocation in invocations if not invocation.entrypoint and invocation.arguments]
    if commands:
        named = [launchers.base(invocation.arguments[0]) for invocation in commands]
        running = [at for at, name in enumerate(named) if name not in BESIDE]
        if running and all(named[at] in PROGRAMS for at in running):
            word = commands[running[0]].arguments[0]
            return {"off_card_program": Field(named[running[0]], (word.origin,))}
        if running and all(named[at] in WAITS for at in running) and _may_compute(document, path):
            words = commands[running[-1]].arguments
            return {} if document.get(("kind",)) == "Pod" and _ends_soon(words) else {"waiting_program": _join(words)}
        return {}
    image = document.get((*path, "image"))
    if not isinstance(image, str):
        return {}
    match = IMAGES.search(image)
    if match is None or BUILT_FOR_GPUS.search(match["tag"] or ""):
        return {}
    return {"off_card_program": Field(image, (Origin(document, (*path, "image")),))}


def _may_compute(document: Document, path: Path) -> bool:
    """Return whether an image is more than a base, and no launcher starts programs in its container."""
    image = document.get((*path, "image"))
    name = image_tags.split_image(image)[0].rpartition("/")[2] if isinstance(image, str) else ""
    if not name or PLACEHOLDERS.fullmatch(name):
        return False
    return not any(map(document.mentions, STARTED_FROM_OUTSIDE)) and document.get((*path, "lifecycle")) is None


def _ends_soon(words: Sequence[Argument]) -> bool:
    """Return whether a wait ends within a day: a bare pod with it is a place to work in, and frees its GPUs by itself."""
    match = DURATION.fullmatch(" ".join(word.text or "" for word in words))
    return match is not None and float(match["number"]) * SECONDS[match["unit"]] <= DAY_S


def _join(words: Sequence[Argument]) -> Field:
    return Field(" ".join(word.text or "…" for word in words), (words[0].origin,))
