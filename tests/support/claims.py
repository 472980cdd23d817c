"""What a file is taken for."""

from __future__ import annotations

import textwrap

from gpulint import adapters
from gpulint.source import documents


def claimed(text: str, path: str = "values.yaml") -> str:
    """What a file is taken for: the kind of its first document; empty where no adapter claims it."""
    (document, *_) = documents.load(path, textwrap.dedent(text).lstrip("\n").encode()).documents
    adapter = adapters.find_adapter(document)
    return adapters.kind(adapter, document) if adapter else ""
