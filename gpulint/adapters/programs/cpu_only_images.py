"""Off card: the programs and images that compute nothing on a GPU, whatever they are given."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.adapters.programs import launchers as launch
from gpulint.engines import Invocation
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
"""Commands of a shell that stand around others and say nothing of what a container is for."""
IMAGES = re.compile(
    r"(?:^|/)(?:curlimages/curl|(?:(?:library|bitnami)/)?(?:redis|postgres|postgresql|haproxy|traefik|memcached)"
    r"|berriai/litellm(?:-database)?|open-webui/open-webui|envoyproxy/envoy|prom/prometheus|grafana/grafana"
    r"|lmcache/lmstack-router)(?::(?P<tag>[\w.-]*))?(?:@\S+)?$"
)
"""Proxies, stores, pages and meters. A placeholder of scheduling examples (pause, nginx, busybox) holds a GPU on purpose."""
BUILT_FOR_GPUS = re.compile(r"cuda|gpu|ollama")
"""open-webui's own builds that run networks: :cuda and :ollama."""


def fields(document: Document, path: Path, invocations: Sequence[Invocation]) -> dict[str, Field]:
    """What a container that asks for a GPU runs without one; nothing where any of it may compute on one."""
    commands = [one for one in invocations if not one.entrypoint and one.arguments]
    if commands:
        named = [launch.base(one.arguments[0]) for one in commands]
        running = [at for at, name in enumerate(named) if name not in BESIDE]
        if running and all(named[at] in PROGRAMS for at in running):
            word = commands[running[0]].arguments[0]
            return {"off_card_program": Field(named[running[0]], (word.origin,))}
        return {}
    image = document.get((*path, "image"))
    if not isinstance(image, str):
        return {}
    found = IMAGES.search(image)
    if found is None or BUILT_FOR_GPUS.search(found["tag"] or ""):
        return {}
    return {"off_card_program": Field(image, (Origin(document, (*path, "image")),))}
