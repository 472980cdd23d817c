"""The vendor of the GPUs that an image is built for, from words in its name."""

from __future__ import annotations

import re

from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin

WORDS = {
    "habana": re.compile(r"(?:^|[/_.-])(?:gaudi\d?|habana(?:labs|ai)?|hpu)(?:$|[/_.:-])|^vault\.habana\.ai/"),
    "intel": re.compile(r"(?:^|[/_:.-])xpu(?:$|[_.:-])[^/]*$"),
    "amd": re.compile(r"(?:^|[/_:.-])rocm[\d.]*(?:$|[/_.:-])"),
    "nvidia": re.compile(r"(?:^|[/_:.-])(?:cuda[\d.]*|cu1[1-3]\d)(?:$|[/_.:-])|^nvcr\.io/nim/"),
}
"""Words with which vendors and projects tag their builds.

Examples: vault.habana.ai, intel/vllm:…-xpu, vllm-openai-rocm, …-cu129. A folder of a registry with
the name xpu may have images of any vendor.
"""


def fields(document: Document, path: Path) -> dict[str, Field]:
    """Return the vendor as a field; empty if the image's name has words of none or of several."""
    image = document.get(path)
    named = [vendor for vendor, word in WORDS.items() if isinstance(image, str) and word.search(image.lower())]
    return {"image_vendor": Field(named[0], (Origin(document, path),))} if len(named) == 1 else {}
