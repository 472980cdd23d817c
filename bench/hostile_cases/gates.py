"""Inputs that are wrong when they are deployed, in spellings, sizes and places that a reader may pass over."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hostile_cases.model import (
    CAUGHT,
    CHECKED,
    COUNTED,
    ENDS,
    LISTED,
    NOT_CHECKED,
    OUTSIDE,
    Case,
    Files,
    Link,
    Pipe,
    files,
    one,
)
from hostile_cases.specs import (
    BATCH_LINES,
    HARMLESS,
    POD,
    SCRIPT,
    TERRAFORM,
    TERRAFORM_RULE,
    TOO_WIDE,
    TRAINER,
    TRAINER_RULE,
    escape_json,
    nest,
    pod_json,
    spell_binary,
    spell_binary_block,
    spell_folded,
    spell_long_u,
    spell_one_x,
    spell_slash,
    spell_u,
    spell_x,
    with_extra,
    with_extra_first,
    write_pod,
)

COMMENTS = "# a comment of no use at all, to make the file longer than a reader likes\n"
POD_LINES = POD.split("spec:", 1)


def list_cases() -> Iterator[Case]:
    """Yield every case of this module; each is tried by name and as a pull request."""
    for cases in (
        _first_lines(), _parts(), _spellings(), _shell_words(), _json_streams(), _sizes(), _document_counts(),
        _levels(), _aliases(), _values(), _folders(), _suffixes(), _links(), _nulls(), _encodings(), _syntax(),
    ):  # fmt: skip
        yield from (case._replace(gate="pipe" not in case.name) for case in cases)


def _yaml(name: str, way: str, text: str, expected: str = CHECKED, path: str = "pod.yaml") -> Case:
    return Case(name, way, expected, one(path, text.encode()), TOO_WIDE)


def _first_lines() -> Iterator[Case]:
    way = "a first line"
    yield _yaml("first-x-yaml", way, "#!x\n" + POD)
    yield _yaml("first-python-yaml", way, "#!/usr/bin/env python3\n" + POD)
    yield _yaml("first-empty-yaml", way, "#!\n" + POD)
    yield _yaml("first-sh-yaml", way, "#!/bin/sh\n" + POD)
    yield _yaml("first-kubectl-yaml", way, "#!/usr/bin/env -S kubectl apply -f\n" + POD)
    yield _yaml("first-x-sh", way, "#!x\n" + BATCH_LINES + SCRIPT[12:], CAUGHT, "run.sh")
    yield _yaml("first-python-sbatch", way, SCRIPT.replace("/bin/bash", "/usr/bin/python3"), LISTED, "run.sbatch")
    yield _yaml("first-env-sh", way, SCRIPT.replace("/bin/bash", "/usr/bin/env -S bash -x"), CHECKED, "run.sh")
    yield _yaml("first-crlf-sh", way, SCRIPT.replace("\n", "\r\n"), CAUGHT, "run.sh")
    yield Case("first-x-tf", way, CHECKED, one("main.tf", f"#!x\n{TERRAFORM}".encode()), TERRAFORM_RULE)
    yield Case("first-x-toml", way, CHECKED, one("train.toml", f"#!x\n{TRAINER}".encode()), TRAINER_RULE)
    yield _yaml("first-x-json", way, "#!x\n" + pod_json(), CAUGHT, "pod.json")
    yield _yaml("first-bom-x-yaml", way, "\ufeff#!x\n" + POD)


def _parts() -> Iterator[Case]:
    way = "a message of several parts"
    yield _yaml("mime-yaml", way, "MIME-Version: 1.0\n" + POD, CAUGHT)
    yield _yaml("mime-quoted-yaml", way, '"MIME-Version": "1.0"\n' + POD, CAUGHT)
    yield _yaml("content-type-yaml", way, "Content-Type: multipart/mixed\n" + POD, CAUGHT)
    yield _yaml("mime-document-yaml", way, "MIME-Version: 1.0\n---\n" + POD, CAUGHT)
    yield _yaml("mime-sh", way, "MIME-Version: 1.0\n" + SCRIPT, ENDS, "run.sh")
    yield Case("mime-tf", way, CAUGHT, one("main.tf", f"MIME-Version: 1.0\n{TERRAFORM}".encode()), TERRAFORM_RULE)


def _spellings() -> Iterator[Case]:
    way = "escapes"
    spellings = (
        spell_x,
        spell_u,
        spell_long_u,
        spell_one_x,
        spell_slash,
        spell_folded,
        spell_binary,
        spell_binary_block,
    )
    for spell in spellings:
        yield _yaml(f"yaml-{spell.__name__.removeprefix('spell_')}", way, write_pod(spell))
    yield _yaml("yaml-escaped-keys", way, write_pod(spell_x).replace("containers", '"\\x63ontainers"'))
    yield _yaml("yaml-escaped-kind", way, write_pod(spell_u).replace("kind: Pod", '"\\x6bind": "\\u0050od"'))
    yield _yaml("yaml-anchored-words", way, "x: &w " + spell_x("nvidia.com/gpu") + "\n" + write_pod(spell_x))
    yield _yaml("yaml-tagged-str", way, write_pod(lambda text: "!!str " + spell_x(text)))
    yield _yaml("yaml-verbatim-tag", way, write_pod(lambda text: "!<tag:yaml.org,2002:str> " + spell_u(text)))
    yield _yaml("yaml-yaml-directive", way, "%YAML 1.1\n---\n" + write_pod(spell_x))
    yield _yaml(
        "yaml-tag-directive", way, "%TAG !e! tag:yaml.org,2002:\n---\n" + write_pod(lambda t: f"!e!str {spell_x(t)}")
    )
    yield _yaml("json-escapes", way, escape_json(pod_json()), CHECKED, "pod.json")
    yield _yaml("json-escapes-in-yaml", way, escape_json(pod_json()), CHECKED)
    toml = TRAINER.replace("context_parallel_degree", '"\\u0063ontext_parallel_degree"')
    toml = toml.replace("[parallelism]", '["\\u0070arallelism"]').replace("[training]", '["\\U00000074raining"]')
    yield Case("toml-escapes", way, CHECKED, one("train.toml", toml.encode()), TRAINER_RULE)
    hcl = TERRAFORM.replace("nvidia", "\\u006evidia").replace("g2-", "\\u00672-").replace('"gpu"', '"pool"')
    yield Case("hcl-escapes", way, CHECKED, one("main.tf", hcl.encode()), TERRAFORM_RULE)


def _shell_words() -> Iterator[Case]:
    way = "shell spelling"
    head, command = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=4\n", "vllm serve Qwen/Qwen3-8B "
    words = {
        "quotes": "v''ll\"\"m serve Qwen/Qwen3-8B --tensor-'parallel'-size 8",
        "backslashes": "v\\l\\l\\m serve Qwen/Qwen3-8B --ten\\sor-par\\allel-size 8",
        "ansi-c": "$'\\x76llm' serve Qwen/Qwen3-8B $'--t\\145nsor-parallel-size' 8",
        "ansi-c-unicode": "$'\\u0076llm' serve Qwen/Qwen3-8B --tensor-parallel-size 8",
        "line-ends": "vl\\\nlm serve Qwen/Qwen3-8B --tensor-par\\\nallel-size 8",
        "variable": "a=vl; b=lm; $a$b serve Qwen/Qwen3-8B --tensor-parallel-size 8",
        "braces": "p=parallel; vllm serve Qwen/Qwen3-8B --tensor-${p}-size 8",
        "default": "vllm serve Qwen/Qwen3-8B --tensor-parallel-size ${TP:-8}",
        "arithmetic": "vllm serve Qwen/Qwen3-8B --tensor-parallel-size $((4 * 2))",
        "eval": 'eval "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8"',
        "bash-c": "bash -c 'vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8'",
        "array": 'o=(--tensor-parallel-size 8); vllm serve Qwen/Qwen3-8B "${o[@]}"',
    }
    for name, line in words.items():
        yield _yaml(f"sh-{name}", way, f"{head}{line}\n", CHECKED, "run.sbatch")
    yield _yaml(
        "sh-directive-spaces",
        way,
        head.replace("#SBATCH --g", "#SBATCH  \t--g") + command + "-tp 8\n",
        CHECKED,
        "run.sbatch",
    )


def _json_streams() -> Iterator[Case]:
    way = "a stream of JSON"
    harmless = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {}})
    for suffix in ("json", "yaml"):
        yield _yaml(f"lines-{suffix}", way, f"{harmless}\n{pod_json()}\n", CAUGHT, f"pod.{suffix}")
        yield _yaml(f"blank-line-{suffix}", way, f"{harmless}\n\n{pod_json()}\n", CAUGHT, f"pod.{suffix}")
        yield _yaml(f"no-space-{suffix}", way, f"{harmless}{pod_json()}", CAUGHT, f"pod.{suffix}")
        yield _yaml(f"dashes-{suffix}", way, f"{harmless}\n---\n{pod_json()}\n", CAUGHT, f"pod.{suffix}")
        yield _yaml(f"wrong-first-{suffix}", way, f"{pod_json()}\n{harmless}\n", CAUGHT, f"pod.{suffix}")
    yield _yaml("trailing-comma-json", way, pod_json()[:-1] + ",}", CAUGHT, "pod.json")
    yield _yaml("comments-json", way, "// words\n" + pod_json(), CAUGHT, "pod.json")
    yield _yaml("escaped-lines-yaml", way, f"{harmless}\n{escape_json(pod_json())}\n", CAUGHT)


def _sizes() -> Iterator[Case]:
    way = "size"

    def big(name: str, path: str, before: str, unit: str, after: str, expected: str = CAUGHT) -> Case:
        return Case(name, way, expected, lambda: {path: (before + unit * (6_000_000 // len(unit)) + after).encode()})

    yield big("comments-before-yaml", "pod.yaml", "", COMMENTS, POD)
    yield big("comments-after-yaml", "pod.yaml", POD, COMMENTS, "")
    yield big("spaces-yaml", "pod.yaml", POD, " ", "\n")
    yield big("blank-lines-yaml", "pod.yaml", "", "\n", POD)
    yield big("value-yaml", "pod.yaml", POD + "extra: ", "x", "\n")
    yield big("block-yaml", "pod.yaml", POD + "extra: |\n", "  words\n", "")
    yield big("padding-json", "pod.json", "", " ", pod_json())
    yield big("value-json", "pod.json", '{"extra": "', "x", '",' + pod_json()[1:])
    yield big(
        "comments-sh",
        "run.sbatch",
        SCRIPT.replace("vllm", "#\nvllm", 1).split("vllm")[0],
        COMMENTS,
        "vllm" + SCRIPT.split("vllm")[1],
    )
    yield big("comments-tf", "main.tf", "", COMMENTS, TERRAFORM)
    yield big("comments-toml", "train.toml", "", COMMENTS, TRAINER)
    yield big("escaped-yaml", "pod.yaml", "", COMMENTS, write_pod(spell_x))
    yield Case("fifty-megabytes", way, CAUGHT, lambda: {"pod.yaml": (COMMENTS * 700_000 + POD).encode()})
    yield Case("one-megabyte", way, CHECKED, lambda: {"pod.yaml": (COMMENTS * 13_000 + POD).encode()}, TOO_WIDE)


def _document_counts() -> Iterator[Case]:
    way = "documents"
    more = f"---\n{HARMLESS}"
    yield Case("1001-wrong-last", way, CAUGHT, lambda: {"pod.yaml": (more * 1000 + f"---\n{POD}").encode()})
    yield Case("1001-wrong-first", way, CAUGHT, lambda: {"pod.yaml": (f"{POD}{more * 1000}").encode()})
    yield Case("5000-empty", way, CAUGHT, lambda: {"pod.yaml": ("---\n" * 5000 + POD).encode()})
    yield Case("20000-comments", way, CAUGHT, lambda: {"pod.yaml": ("---\n# words\n" * 20_000 + POD).encode()})
    yield Case("400-wrong-last", way, CHECKED, lambda: {"pod.yaml": (more * 400 + f"---\n{POD}").encode()}, TOO_WIDE)
    yield Case("ends-of-documents", way, CHECKED, lambda: {"pod.yaml": ("...\n---\n" * 20 + POD).encode()}, TOO_WIDE)
    items = f'{{"apiVersion": "v1", "kind": "List", "items": [{"{}, " * 1500}{pod_json()}]}}'
    yield Case("list-of-1501", way, CAUGHT, one("pod.json", items.encode()), TOO_WIDE)
    listed = f'{{"apiVersion": "v1", "kind": "List", "items": [{pod_json()}]}}'
    yield Case("list-of-one", way, CHECKED, one("pod.json", listed.encode()), TOO_WIDE)


def _levels() -> Iterator[Case]:
    way = "levels"
    yield _yaml("flow-300", way, with_extra(nest(300)), CAUGHT)
    yield _yaml("flow-300-first", way, with_extra_first(nest(300)), CAUGHT)
    yield Case("flow-100000", way, CAUGHT, lambda: {"pod.yaml": with_extra("[" * 100_000).encode()})
    yield Case("flow-maps-20000", way, CAUGHT, lambda: {"pod.yaml": with_extra("{a: " * 20_000).encode()})
    block = "".join(f"{' ' * at}a:\n" for at in range(300))
    yield _yaml("block-300", way, f"{POD}extra:\n" + "".join(f" {line}\n" for line in block.splitlines()), CAUGHT)
    yield _yaml("dashes-3000", way, f"{POD}extra:\n  " + "- " * 3000 + "x\n", CAUGHT)
    deep = '{"extra": ' + nest(300) + ", " + pod_json()[1:]
    yield _yaml("json-300", way, deep, CAUGHT, "pod.json")
    yield Case(
        "json-100000", way, CAUGHT, lambda: {"pod.json": f'{{"extra": {nest(100_000)}, {pod_json()[1:]}'.encode()}
    )
    yield Case("toml-300", way, CAUGHT, one("train.toml", f"{TRAINER}x = {nest(300)}\n".encode()), TRAINER_RULE)
    yield Case(
        "hcl-300", way, CAUGHT, one("main.tf", f"locals {{\n x = {nest(300)}\n}}\n{TERRAFORM}".encode()), TERRAFORM_RULE
    )
    yield Case(
        "hcl-blocks-5000", way, CAUGHT, lambda: {"main.tf": (TERRAFORM + "a {\n" * 5000 + "}\n" * 5000).encode()}
    )
    yield _yaml("sh-substitutions-300", way, SCRIPT + "x=" + "$(echo " * 300 + ")" * 300 + "\n", CAUGHT, "run.sbatch")
    yield Case("sh-braces-20000", way, CAUGHT, lambda: {"run.sbatch": (SCRIPT + "{ " * 20_000 + "\n").encode()})


def _aliases() -> Iterator[Case]:
    way = "aliases"
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 10)
    )
    yield _yaml("laughs-before", way, laughs + POD, CAUGHT)
    yield _yaml("laughs-after", way, POD + laughs, CAUGHT)
    yield _yaml("laughs-other-document", way, f"{laughs}---\n{POD}", CAUGHT)
    merges = "b0: &b0 {k: v}\n" + "".join(f"b{at}: &b{at} {{<<: [*b{at - 1}, *b{at - 1}]}}\n" for at in range(1, 40))
    yield _yaml("merge-bomb", way, POD + merges, CAUGHT)
    yield Case(
        "quadratic",
        way,
        CAUGHT,
        lambda: {"pod.yaml": (f"{POD}q: &q [{'x, ' * 3000}]\nr: [{'*q, ' * 3000}]\n").encode()},
    )
    yield _yaml("self", way, f"{POD}me: &me [*me]\n", CAUGHT)
    yield _yaml("self-merge", way, f"{POD}me: &me {{<<: *me}}\n", CAUGHT)
    yield _yaml("as-key", way, f"{POD}k: &k word\n? *k\n: x\n", CAUGHT)
    yield _yaml("unknown", way, f"{POD}k: *nowhere\n", CAUGHT)
    yield _yaml("across-documents", way, f"a: &four 4\n---\n{POD.replace('gpu: 4', 'gpu: *four')}", CAUGHT)
    yield _yaml("count-by-alias", way, "x: &n 8\n" + POD.replace('"--tensor-parallel-size=8"', '"-tp", *n'))
    yield _yaml("container-by-merge", way, POD.replace("    - name: vllm", "    - <<: {image: x}\n      name: vllm"))


def _values() -> Iterator[Case]:
    way = "values"
    yield Case("600000-yaml", way, CAUGHT, lambda: {"pod.yaml": with_extra(f"[{'1,' * 600_000}1]").encode()})
    yield Case("600000-first", way, CAUGHT, lambda: {"pod.yaml": with_extra_first(f"[{'1,' * 600_000}1]").encode()})
    yield Case(
        "600000-json", way, CAUGHT, lambda: {"pod.json": f'{{"extra": [{"1," * 600_000}1], {pod_json()[1:]}'.encode()}
    )
    yield Case(
        "600000-in-data", way, CAUGHT, lambda: {"pod.yaml": f"{HARMLESS}x: [{'1,' * 600_000}1]\n---\n{POD}".encode()}
    )
    yield Case(
        "100000-keys",
        way,
        CAUGHT,
        lambda: {"pod.yaml": with_extra(f"{{{','.join(f'k{n}: 1' for n in range(100_000))}}}").encode()},
    )
    yield Case("100000-same-keys", way, CAUGHT, lambda: {"pod.yaml": (POD + "k: 1\n" * 100_000).encode()})
    yield Case("150000-toml", way, CAUGHT, lambda: {"train.toml": f"{TRAINER}x = [{'1,' * 150_000}]\n".encode()})
    yield Case(
        "300000-hcl", way, CAUGHT, lambda: {"main.tf": f"{TERRAFORM}locals {{\nx = [{'1,' * 300_000}]\n}}\n".encode()}
    )


def _folders() -> Iterator[Case]:
    way = "folders"
    for folder in ("node_modules", ".venv", "deep/node_modules/x"):
        yield Case(
            f"tracked-{folder.replace('/', '-')}",
            way,
            CAUGHT,
            one(f"{folder}/pod.yaml", POD.encode()),
            words=("check", "."),
            git=True,
        )
        yield Case(f"named-{folder.replace('/', '-')}", way, CAUGHT, one(f"{folder}/pod.yaml", POD.encode()))
    ignored = files(__gitignore=b"*.yaml\n", pod__yaml=POD.encode())
    yield Case("tracked-but-ignored", way, CAUGHT, ignored, words=("check", "."), git=True)
    in_folder: Files = {".gitignore": b"apps/\n", "apps/pod.yaml": POD.encode()}
    yield Case("tracked-in-ignored-folder", way, CAUGHT, lambda: in_folder, words=("check", "."), git=True)
    nested: Files = {"apps/.gitignore": b"*\n", "apps/pod.yaml": POD.encode()}
    yield Case("tracked-ignored-by-star", way, CAUGHT, lambda: nested, words=("check", "."), git=True)
    yield Case("hidden-folder", way, CAUGHT, one(".hidden/pod.yaml", POD.encode()), words=("check", "."), git=True)
    yield Case(
        "folder-120-deep",
        way,
        LISTED,
        one("/".join("d" * 120) + "/pod.yaml", POD.encode()),
        words=("check", "."),
        git=True,
    )


def _suffixes() -> Iterator[Case]:
    way = "suffixes"
    for name in ("pod.YAML", "pod.YML", "pod.Yaml", "pod.yMl"):
        yield _yaml(name, way, POD, CAUGHT, name)
    for name in ("pod.Json", "pod.JSON"):
        yield _yaml(name, way, pod_json(), CAUGHT, name)
    yield _yaml("run.SH", way, SCRIPT, CAUGHT, "run.SH")
    yield _yaml("run.Sbatch", way, SCRIPT, CAUGHT, "run.Sbatch")
    yield Case("main.TF", way, CAUGHT, one("main.TF", TERRAFORM.encode()))
    yield Case("train.TOML", way, CAUGHT, one("train.TOML", TRAINER.encode()))
    yield Case("upper-in-folder", way, CAUGHT, one("apps/pod.YAML", POD.encode()), words=("check", "."), git=True)
    yield _yaml("json-in-yaml", way, pod_json())
    yield _yaml("yaml-in-json", way, POD, CAUGHT, "pod.json")
    yield _yaml("script-without-suffix", way, SCRIPT, CHECKED, "launch")


def _links() -> Iterator[Case]:
    way = "links"
    outside = f"../{OUTSIDE}/pod.yaml"
    yield Case(
        "to-hidden-file",
        way,
        CAUGHT,
        lambda: {"pod.yaml": Link("words.bin"), "words.bin": POD.encode()},
        words=("check", "pod.yaml"),
    )
    yield Case(
        "to-hidden-file-in-folder",
        way,
        LISTED,
        lambda: {"pod.yaml": Link("words.bin"), "words.bin": POD.encode()},
        words=("check", "."),
        git=True,
    )
    yield Case("outside", way, NOT_CHECKED, one("pod.yaml", Link(outside)))
    yield Case("outside-absolute", way, NOT_CHECKED, one("pod.yaml", Link("/etc/passwd")))
    yield Case("to-itself", way, NOT_CHECKED, one("pod.yaml", Link("pod.yaml")))
    yield Case("loop", way, NOT_CHECKED, lambda: {"a.yaml": Link("b.yaml"), "b.yaml": Link("a.yaml")})
    yield Case("to-nothing", way, NOT_CHECKED, one("pod.yaml", Link("nothing.yaml")))
    yield Case("to-device", way, NOT_CHECKED, one("pod.yaml", Link("/dev/zero")))
    yield Case("to-own-memory", way, NOT_CHECKED, one("pod.yaml", Link("/proc/self/environ")))
    yield Case(
        "folder-outside",
        way,
        LISTED,
        lambda: {"apps": Link(f"../{OUTSIDE}"), "a.txt": b""},
        words=("check", "."),
        git=True,
    )
    yield Case(
        "folder-inside",
        way,
        CAUGHT,
        lambda: {"apps": Link("words.d"), "words.d/pod.yaml": POD.encode()},
        words=("check", "apps"),
    )
    yield Case("folder-to-itself", way, ENDS, lambda: {"apps": Link("."), "a.txt": b""}, words=("check", "."), git=True)
    yield Case("pipe", way, NOT_CHECKED, one("pod.yaml", Pipe()))


def _nulls() -> Iterator[Case]:
    way = "NUL bytes"
    for name, text in {
        "comment": f"# \0\n{POD}",
        "end": f"{POD}\0",
        "start": f"\0{POD}",
        "value": POD.replace("chat", "ch\0at"),
    }.items():
        yield _yaml(f"nul-{name}", way, text, CAUGHT)
    yield _yaml("nul-sh", way, SCRIPT.replace("vllm", "v\0llm"), CAUGHT, "run.sbatch")
    yield _yaml("nul-between-letters", way, "".join(f"{letter}\0" for letter in POD), CAUGHT)
    yield _yaml("nul-json", way, pod_json() + "\0", CAUGHT, "pod.json")


def _encodings() -> Iterator[Case]:
    way = "encodings"
    for codec in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        yield Case(f"yaml-{codec}", way, CAUGHT, one("pod.yaml", POD.encode(codec)))
        yield Case(f"json-{codec}", way, CAUGHT, one("pod.json", pod_json().encode(codec)))
    marked = b"\xfe\xff" + POD.encode("utf-16-be")
    yield Case("yaml-utf-16-be-mark", way, CAUGHT, one("pod.yaml", marked))
    yield Case("yaml-utf-8-mark", way, CHECKED, one("pod.yaml", POD.encode("utf-8-sig")), TOO_WIDE)
    yield Case("yaml-latin-1", way, CAUGHT, one("pod.yaml", f"# Größe\n{POD}".encode("latin-1")))
    yield Case(
        "sh-latin-1", way, CAUGHT, one("run.sbatch", SCRIPT.replace("vllm", "# Größe\nvllm", 1).encode("latin-1"))
    )
    yield Case("yaml-latin-1-escapes", way, CAUGHT, one("pod.yaml", f"# Größe\n{write_pod(spell_x)}".encode("latin-1")))
    yield Case("yaml-overlong", way, CAUGHT, one("pod.yaml", b"# \xc0\xaf\xc1\xa7\n" + POD.encode()))
    yield Case(
        "yaml-overlong-word", way, CAUGHT, one("pod.yaml", POD.encode().replace(b"nvidia", b"\xc1\xae\xc1\xb6idia"))
    )
    yield Case("yaml-surrogates", way, CAUGHT, one("pod.yaml", b"# \xed\xa0\x80\xed\xb0\x80\n" + POD.encode()))
    yield _yaml("yaml-mark-in-the-middle", way, POD.replace("spec:", "spec:\ufeff", 1), CAUGHT)
    yield _yaml("yaml-mark-before-document", way, f"{HARMLESS}---\n\ufeff{POD}", CAUGHT)
    yield _yaml("yaml-old-mac-lines", way, POD.replace("\n", "\r"), CAUGHT)
    yield _yaml("yaml-next-lines", way, POD.replace("\n", "\x85"), CAUGHT)
    yield _yaml("yaml-line-separators", way, POD.replace("\n", "\u2028"), CAUGHT)
    yield _yaml("yaml-control-character", way, f"# \x07\x1b[2J\n{POD}", CAUGHT)
    yield _yaml("yaml-tabs", way, POD.replace("    ", "\t"), CAUGHT)
    yield _yaml("yaml-no-break-spaces", way, POD.replace("image: ", "image:\u00a0"), CAUGHT)


def _syntax() -> Iterator[Case]:
    way = "syntax"
    broken = POD.replace("kind: Pod", "kind: [Pod")
    yield _yaml("invalid", way, broken, NOT_CHECKED)
    yield _yaml("invalid-selected", way, broken, NOT_CHECKED)._replace(
        words=("check", "--select", TOO_WIDE, "pod.yaml")
    )
    yield _yaml("invalid-family-selected", way, broken, NOT_CHECKED)._replace(
        words=("check", "--select", "memory", "pod.yaml")
    )
    settings = files(gpulint__yaml=f"select: [{TOO_WIDE}]\n".encode(), pod__yaml=broken.encode())
    yield Case("invalid-select-in-policy", way, LISTED, settings, words=("check", "."), git=True)
    yield _yaml("limit-selected", way, with_extra(nest(300)), CAUGHT)._replace(
        words=("check", "--select", TOO_WIDE, "pod.yaml")
    )
    yield _yaml("wrong-after-invalid", way, f"a: [\n---\n{POD}", CAUGHT)
    yield _yaml("invalid-after-escapes", way, write_pod(spell_x) + "x: [\n", NOT_CHECKED)
    yield _yaml("invalid-json", way, pod_json()[:-3], NOT_CHECKED, "pod.json")
    yield Case("invalid-tf", way, CAUGHT, one("main.tf", TERRAFORM[:-4].encode()))
    yield Case("invalid-toml", way, CAUGHT, one("train.toml", f"{TRAINER}x = [\n".encode()))
    yield _yaml("invalid-sh", way, SCRIPT + "if true; then\n", CAUGHT, "run.sbatch")
    yield _yaml("template-word", way, f"# {{{{ x }}}}\n{POD}", CHECKED)
    yield _yaml("template-word-and-invalid", way, f"# {{{{ x }}}}\n{broken}", LISTED)
    yield _yaml("at-word-and-invalid", way, f"# @x@\n{broken}", LISTED)
    launcher = b"model: Qwen/Qwen3-8B\ntensor-parallel-size: 8\n"
    silence = ("nothing here concerns GPUs",)
    yield Case("arguments-file", "launcher arguments", ENDS, one("args.yaml", launcher), absent=silence)
    yield Case(
        "arguments-file-escaped",
        "launcher arguments",
        ENDS,
        one("args.yaml", b'"\\x74ensor-parallel-size": 8\n'),
        absent=silence,
    )
    yield Case("crd-with-gpus", "known kinds", COUNTED, one("crd.yaml", CRD.encode()))
    yield Case("patch", "known kinds", COUNTED, one("patch.yaml", PATCH.encode()))
    yield Case("template", "known kinds", COUNTED, one("pod.yaml", TEMPLATE.encode()))


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gpus.example.com}
spec: {group: example.com, names: {kind: Gpu, plural: gpus}, scope: Cluster, versions: []}
"""
PATCH = "- op: replace\n  path: /spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu\n  value: 4\n"
TEMPLATE = POD.replace("chat", "{{ .Values.name }}").replace(
    "nvidia.com/gpu: 4", "{{- toYaml .Values.limits | nindent 10 }}"
)
