"""What a repository says of its hardware beside the file under check: the nearest README, and its node pools."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.adapters import nodes
from gpulint.catalog import hardware
from gpulint.pipeline.enrichment import machine_files
from gpulint.pipeline.enrichment.evidence import Evidence
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Unknown

READMES = ("README.md", "readme.md", "Readme.md", "README.MD", "README.rst", "README", "README.txt")
AGENTS = ("CLAUDE.md", "AGENTS.md")
"""Files for coding agents, of which only what they state as the hardware counts."""
FOLDERS_MAX = 12
TEXT_MAX = 100_000
"""Bytes of a README that are read."""
LINE_MAX = 2_000
TOKEN = re.compile(r"[A-Za-z0-9][\w.-]*[A-Za-z0-9]")
HEADING = re.compile(r"#{1,6}[ \t]+(?P<text>\S[^\r\n]*)")
FENCE = re.compile(r"[ \t]*(?:```|~~~)")
"""The first and the last line of a code block, in which a # begins no heading."""
WORDS_OF_HARDWARE = (
    r"gpus?(?: used)?|gpu (?:model|type|name|hardware)|device|graphics(?: cards?)?|video cards?|accelerators?"
    r"|hardware(?: target)?|target hardware"
    r"|gpu ?型号|显卡(?:型号)?|硬件|그래픽(?: ?카드)?|ハードウェア|видеокарт[аы]"
    r"|(?:(?:training|test|development|dev|evaluation) )?(?:environment|machine|hardware|gpu|setup)(?: used)?"
)
LABEL = re.compile(rf"[\s>*+|-]*+(?:{WORDS_OF_HARDWARE})(?:\*\*)?\s*+(?:\*\*\s*+)?[:：|]", re.IGNORECASE)
"""A line that is labelled as the hardware: `- **GPU**: …`, `| GPU | … |`."""
OF_HARDWARE = re.compile(rf"[\s*]*(?:{WORDS_OF_HARDWARE})[\s*]*", re.IGNORECASE)
OF_NAMES = re.compile(r"[\s*`]*(?:slurm )?(?:partitions?|queues?|pools?)[\s*`]*", re.IGNORECASE)
"""The head of a column of names that a site gave, of which one may be gpu."""
HARDWARE_SECTION = re.compile(
    r"\b(?:hardware|machines?|infrastructure|test ?bed|server specs?|specs|specifications?|our cluster|cluster (?:hardware|nodes)"
    r"|nodes|gpus?)\b|硬件|机器配置|服务器|ハードウェア|하드웨어|оборудование|phần cứng",
    re.IGNORECASE,
)
"""Sections that describe the machines of a repository."""
OTHER_SECTION = re.compile(
    r"\b(?:benchmarks?|results?|performance|compar\w*|support\w*|compatib\w*|roadmap"
    r"|to-?do|trouble\w*|changelog|history|news|faq|tested|limitations?|alternatives?|upgrade\w*|scaling|cost|pricing|options?"
    r"|related|acknowledg\w*|references?)\b|性能|对比|支持|结果|基准|성능",
    re.IGNORECASE,
)
"""Sections that compare, limit or measure, and do not tell what a repository runs on."""
REQUIREMENTS = re.compile(
    r"\b(?:requirements?|requires|prerequisites?|minimum|recommend\w*)\b|要求|推荐|요구|требования", re.IGNORECASE
)
"""Sections that say what a repository needs, and not which machine it runs on."""
OTHER_HARDWARE = re.compile(
    r"\b(?:tested (?:on|with)|benchmark\w*|measured|validated on|verified on|supports?|supported|unsupported|compared"
    r"|tok(?:ens)?/s|throughput|latency|speed-?up|faster|slower|colab|kaggle|free tier)\b|测试|实测|支持|对比",
    re.IGNORECASE,
)
"""Words with which a line tells of a measurement or of what is possible, and not of the machine of the workload."""
USED = re.compile(
    r"\b(?:(?:tested|trained|fine-?tuned|developed|evaluated|validated|verified|executed|ran|conducted|performed)"
    r"\b[^.;|\r\n]{0,60}?\b(?:on|with|using)|(?:runs?|running) on|(?:using|with) (?:a|one) single"
    r"|my (?:own )?(?:machine|laptop|gpu|pc|workstation|desktop|hardware|setup|rig))\b"
    r"|(?:基于|使用|以|在)[^。\r\n]{0,20}?(?:单卡|训练|微调|测试)"
    r"|обучен\w* на\b|entra[iî]n\w+ sur\b|trainiert auf\b|entrenad\w+ en\b",
    re.IGNORECASE,
)
"""Words with which a line tells on what somebody ran the program: a machine of any host, but no part of a cluster."""
SENTENCE_END = re.compile(r"[.;!?]\s|[。；！？]")
PLURAL = re.compile(r"(?:\ds|gpus|cards)$", re.IGNORECASE)
WISHED = re.compile(
    r"\b(?:support\w*|compatib\w*|compar\w*|versus|roadmap|to-?do|faq|upgrade\w*|pricing|acknowledg\w*|related|faster|slower)\b|支持|对比",
    re.IGNORECASE,
)
"""Words of sections and lines that name possible or other hardware, even if somebody ran the program on it."""
ON = re.compile(r"\bon\b|\d\s?[x×]", re.IGNORECASE)
"""Words of a title that says on which hardware a repository runs."""
LABEL_OF_GKE = "cloud.google.com/gke-accelerator"
"""The label whose values commands name too, such as `--accelerator type=nvidia-l4`."""
MARKUP = re.compile(r"[<>$?{}]|\{\{")
"""Characters of commands and diagrams, with which no prose offers alternatives."""
ALTERNATIVES = re.compile(
    r"\b(?:or|also|not|no|instead|unlike|vs|versus|than|at least|minimum|min|up to|e\.?g|such as|like|if|when|could|may|might"
    r"|should|would|equivalent|class|compatible|optional(?:ly)?|prefer(?:s|red)?|fall ?backs?|simulat\w+|untested|works on"
    r"|todo|future|any|other|example|adjust|change|too|oom|out of memory|fail(?:s|ed)?|slow|without|never|previously|old"
    r"|except|larger|bigger|smaller|upgrade|both)\b|n't\b|>=|\u2265|[<>$?]|\{\{"
    r"|[或和与及]|以上|至少|最低|不支持|不足|不够|对比|または|あるいは|이상|또는|최소|\b(?:или|не|минимум|oder|ou|mindestens|nicht|ohne|sans|pas|o)\b",
    re.IGNORECASE,
)
"""Words with which a comment compares, limits or offers hardware, and does not tell what the file is for."""


class NamedProducts(NamedTuple):
    """The accelerators that some words of a line may mean, and whether the line says no more than that they are used.

    `is_stated` means that the line states them as the hardware: by its label, its section, its column or the title.
    `is_used` means that it says on what somebody ran the program, and `is_one` that it names them in the singular.
    """

    products: tuple[str, ...]
    gpus: int | None
    line: int
    is_plain: bool
    is_stated: bool = False
    is_used: bool = False
    is_one: bool = False


def find(document: Document, repository: Repository, local: bool) -> Iterator[Evidence]:
    """Yield what the nearest README that names accelerators, and all node pools of the repository, agree on.

    `local` means that the program runs on any host: on what somebody ran it is its machine, and no pool of a cluster is.
    """
    path, mentions = _find_readme(posixpath.dirname(document.path), repository)
    yield from _compare(mentions, path, local)
    if not (local and mentions):
        yield from _find_pools(document, repository)
    yield from machine_files.find(document.path, repository)


# ---- READMEs


def _find_readme(folder: str, repository: Repository) -> tuple[str, tuple[NamedProducts, ...]]:
    """Return the nearest README that names any accelerator, with what its lines name."""
    for _ in range(FOLDERS_MAX):
        for name in (*READMES, *AGENTS):
            path = posixpath.join(folder, name)
            mentions = _read_mentions(path, repository)  # type: ignore[arg-type]
            if name in AGENTS:
                mentions = tuple(mention for mention in mentions if mention.is_stated)
            if mentions:
                return path, mentions
        if folder in ("", "/"):
            break
        folder = posixpath.dirname(folder)
    return "", ()


def _compare(mentions: tuple[NamedProducts, ...], path: str, local: bool) -> Iterator[Evidence]:
    """Yield the accelerators that all mentions may mean. A larger count is that of a machine, and not of a replica.

    What a README states as its hardware precedes on what somebody ran it, and that precedes what else it mentions.
    """
    used = tuple(mention for mention in mentions if mention.is_used) if local else ()
    mentions = tuple(mention for mention in mentions if mention.is_stated) or used or mentions
    shared = frozenset.intersection(*(frozenset(mention.products) for mention in mentions)) if mentions else ()
    plain = next((mention for mention in mentions if mention.is_plain or (local and mention.is_used)), None)
    if not shared or plain is None:
        return
    counts = {mention.gpus for mention in mentions if mention.gpus is not None}
    is_one = counts == {1} or (local and not counts and all(mention.is_one for mention in mentions))
    ordered = tuple(product for product in plain.products if product in shared)
    yield Evidence(ordered, f"line {plain.line} of {path}", 1 if is_one else None)


@functools.lru_cache(maxsize=256)
def _read_mentions(path: str, repository: Repository) -> tuple[NamedProducts, ...]:
    """Return the accelerators and machine types that the lines of a README name."""
    content = repository.read(path) if repository.exists(path) else None
    if content is None:
        return ()
    return tuple(_list_mentions(content[:TEXT_MAX].decode("utf-8", "replace").splitlines()))


def _list_mentions(lines: Sequence[str]) -> Iterator[NamedProducts]:
    section, column, titled, fenced, is_list = "", -1, False, False, False
    for at, line in enumerate((line[:LINE_MAX] for line in lines), 1):
        fenced ^= FENCE.match(line) is not None
        if heading := None if fenced else HEADING.match(line):
            section = heading["text"]
        cells = line.strip().strip("|").split("|") if line.lstrip().startswith("|") else []
        is_list = bool(cells) and (is_list or any(OF_NAMES.fullmatch(cell) for cell in cells))
        if not cells:
            column = -1
        elif any(OF_HARDWARE.fullmatch(cell) for cell in cells[1:]):
            column = next(number for number, cell in enumerate(cells) if OF_HARDWARE.fullmatch(cell))
        title = heading is not None and not titled
        titled |= heading is not None
        for mention in _read_line(line, at):
            if OTHER_SECTION.search(section) or OTHER_HARDWARE.search(line):
                used = mention.is_plain and mention.is_used and not WISHED.search(f"{section} {line}")
                yield mention._replace(is_plain=False, is_used=used)
                continue
            stated = (LABEL.match(line) is not None and not is_list) or (title and ON.search(line) is not None)
            stated |= HARDWARE_SECTION.search(section) is not None and not REQUIREMENTS.search(section)
            stated |= 0 <= column < len(cells) and bool(list(hardware.find_in_sentence(cells[column])))
            yield mention._replace(is_stated=stated and mention.is_plain, is_used=mention.is_plain and mention.is_used)


def _read_line(line: str, at: int) -> Iterator[NamedProducts]:
    is_plain = not ALTERNATIVES.search(MARKUP.sub(" ", line))
    for mention in hardware.find_in_sentence(line):
        is_one = not PLURAL.search(mention.words) and not any(map(_is_linked, mention.products))
        is_used = _is_used(line, mention.words)
        yield NamedProducts(mention.products, mention.gpus, at, is_plain, is_used=is_used, is_one=is_one)
    for match in TOKEN.finditer(line):
        if product := _find_machine(match[0]):
            yield NamedProducts((product,), None, at, is_plain, is_used=_is_used(line, match[0]))


def _is_used(line: str, words: str) -> bool:
    """Whether the sentence that names a product says before it that somebody ran the program."""
    at = max(0, line.find(words))
    begin = max((end.end() for end in SENTENCE_END.finditer(line, 0, at)), default=0)
    return any(match.start() < at for match in USED.finditer(line, begin))


def _is_linked(name: str) -> bool:
    """Whether a product comes in machines of several GPUs only."""
    product = hardware.accelerator(name)
    return product is not None and (product.link_domain_gpus or 1) > 1


def _find_machine(token: str) -> str:
    """Return the accelerator of a machine type, or of a type of accelerator of Google Cloud."""
    if len(token) < 8 or not re.search(r"\d", token) or not re.search(r"[-._]", token):
        return ""
    if machine := hardware.node(token):
        return machine.accelerator or ""
    return hardware.labels().get((LABEL_OF_GKE, token), "")


# ---- node pools


def _find_pools(document: Document, repository: Repository) -> Iterator[Evidence]:
    """Yield the accelerator of all pools that the repository defines, if they have the same."""
    found, own = nodes.read_pools(document, repository)
    pools = [pool for pool in (*found.pools, *own) if pool.has_card()]
    cards = {pool.accelerator.value for pool in pools}
    if len(cards) != 1 or isinstance(value := pools[0].accelerator.value, Unknown):
        return
    where = f" ({pools[0].origin.document.path})" if pools[0].origin else ""
    yield Evidence((str(value),), f"the node pool {pools[0].name}{where}")
