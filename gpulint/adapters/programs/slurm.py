"""Slurm: what the leading `#SBATCH` lines of a batch script request, and the variables that Slurm
sets.

The corresponding lines of PBS and LSF are read into the same terms.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters.programs import launchers, processes
from gpulint.catalog import hardware
from gpulint.engines import Argument
from gpulint.workload import Field, Origin, Unknown, Value

TRIGGERS = ("#sbatch", "slurm_")
SCHEDULERS = {"#SBATCH": "Slurm", "#PBS": "PBS", "#BSUB": "LSF"}
LINE = re.compile(r"(#SBATCH|#PBS|#BSUB)(?:(?=[ \t]+-)|[ \t]+<[^<>]*>(?=[ \t]+-))(?P<options>[^\r\n]*)")
"""A line of options, possibly with placeholders before them: `#SBATCH <SLURM OPTIONS> --nodes=2`."""
COMMENT_OR_BLANK = re.compile(r"[ \t\r]*(?:#[^\n]*)?")
TOKEN = re.compile(r"\{\{(?:(?!\{\{).)*?\}\}\S*|(?:\"[^\"\n]*\"|'[^'\n]*'|\{\{(?:(?!\{\{).)*?\}\}|[^\s\"'])+")
LSF_SWITCHES = re.compile(r"-(?:B|H|h|I[psSX]{0,3}|K|N[ed]?|r|rn|ul|V|x|XF|Zs)")
COMPONENT = frozenset({"hetjob", "packjob"})
SELECT = re.compile(r"(?P<chunks>\d+)(?P<resources>(?::\w+=[\w.]+)*)")
GRES_GPU = re.compile(r"(?:gres[/:])?gpu(?::(?P<type>[^:=,(]*[^\d:=,(][^:=,(]*))?(?:[:=](?P<count>\d+))?(?:\(.*)?")
TYPED = re.compile(r"(?:(?P<type>[^:,]+):)?(?P<count>\d+)")
MIG = re.compile(r"(?:nvidia_)?(?:\w+_)?(\d+g\.\d+gb)")
QUEUE = "queue or partition"
DECIDING = ("constraint", "partition", "gpus_per_node", "gres", "gpus_per_task", "gpus")
"""The lines that leave the accelerator to the cluster, the most specific one first."""
MULTI_NODE = re.compile(r"SLURM_(?:JOB_)?(?:NNODES|NUM_NODES|NODELIST|NODEID)\b")
SET_BY_SLURM = (
    *("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_SUBMIT_DIR", "SLURM_PROCID"),
    *("SLURM_LOCALID", "SLURM_NODEID", "SLURM_CPUS_ON_NODE", "SLURM_TASKS_PER_NODE", "SLURMD_NODENAME", "SLURM_NPROCS"),
    *("SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NAME"),
    *("SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_ARRAY_TASK_ID", "SLURM_GPUS_ON_NODE", "SLURM_NTASKS"),
)
"""Variables that are always set (sbatch(1) of Slurm 23.02, output environment variables)."""


class Job(NamedTuple):
    """A batch script's own lines: what they set by quantity, with one mapping per component of the
    job.
    """

    scheduler: str
    components: tuple[Mapping[str, Argument], ...]
    first: Argument

    @property
    def settings(self) -> Mapping[str, Argument]:
        """The settings of the first component."""
        return self.components[0]


def job(text: str, place: Callable[[int, int], Origin], shift: int = 0) -> Job | None:
    """Return the job in the leading lines of a script; None if it has none.

    sbatch stops at the first line that is neither blank nor a comment, and `##SBATCH` and `# SBATCH` are comments.
    """
    components: list[dict[str, Argument]] = [{}]
    scheduler, first, at = "", None, 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if (match := LINE.match(bare)) is not None or bare.strip() in {f"#SBATCH {word}" for word in COMPONENT}:
            scheduler = scheduler or SCHEDULERS[bare.split(None, 1)[0]]
            first = first or Argument(bare, place(at + shift, at + shift + len(bare)))
            if match is None:
                components.append({})
            elif SCHEDULERS[match[1]] == scheduler:
                components[-1].update(
                    _read_options(scheduler, match["options"], _shift_place(place, at + shift + match.start("options")))
                )
        elif not COMMENT_OR_BLANK.fullmatch(bare):
            break
        at += len(line)
    if first is None:
        return None
    if "nodes" not in components[0] and "ntasks" not in components[0] and MULTI_NODE.search(text):
        why = "the number of nodes is set when the job is submitted"
        components[0]["nodes"] = Argument(None, first.origin, why, category="caller's variable")
    return Job(scheduler, tuple(components), first)


def apply_submission(words: tuple[Argument, ...], lines: Job | None) -> Job | None:
    """Return the job of `sbatch OPTIONS` for a script. The options override the script's lines."""
    step, _ = launchers.read_options("slurm", words[0], words[1:], 0)
    options = {quantity: given[-1] for quantity, given in step.stated.items()}
    if not options:
        return lines
    first, *others = lines.components if lines else ({},)
    return Job("Slurm", ({**first, **options}, *others), lines.first if lines else words[0])


def split_submission(words: tuple[Argument, ...]) -> tuple[Job, tuple[Argument, ...]] | None:
    """Return the job of `bsub OPTIONS COMMAND` and the words of its command; None without a command.

    IBM Spectrum LSF 10.1, bsub: every option takes a value but these.
    """
    at = 1
    while at < len(words) and (words[at].text or "").startswith("-"):
        at += 1 if LSF_SWITCHES.fullmatch(words[at].text or "") else 2
    if words[0].text != "bsub" or at >= len(words):
        return None
    return Job("LSF", (_read_lsf(words[1:at]),), words[0]), words[at:]


def _shift_place(place: Callable[[int, int], Origin], start: int) -> Callable[[int, int], Origin]:
    return lambda first, last: place(start + first, start + last)


def _read_options(scheduler: str, options: str, place: Callable[[int, int], Origin]) -> dict[str, Argument]:
    words = tuple(_split_words(options, place))
    if scheduler == "PBS":
        return _read_pbs(words)
    if scheduler == "LSF":
        return _read_lsf(words)
    step, _ = launchers.read_options("slurm", words[0] if words else Argument("", place(0, 0)), words, 0)
    return {quantity: _mark_open(given[-1]) for quantity, given in step.stated.items()}


def _split_words(options: str, place: Callable[[int, int], Origin]) -> Iterator[Argument]:
    """Yield the words of one line up to its comment, without quotes."""
    for match in TOKEN.finditer(options):
        if match[0].startswith("#"):
            return
        text = re.sub(r"[\"']", "", match[0])
        yield Argument(text, place(*match.span()))


def _mark_open(word: Argument) -> Argument:
    """Return the value of an option.

    Batch lines are not shell, so a variable in them is not expanded.
    """
    text = word.text or ""
    if "{{" in text or "$" in text or processes.PLACEHOLDER.search(text):
        return word._replace(text=None, why=f"{text} is filled in elsewhere")
    return word


def _read_pbs(words: tuple[Argument, ...]) -> dict[str, Argument]:
    """Read `-l select=2:ngpus=4:mpiprocs=4`, the older `-l nodes=2:ppn=4:gpus=4`, `-N` and `-q`."""
    settings: dict[str, Argument] = {}
    for option, value in itertools.pairwise(words):
        if option.text in ("-N", "-q"):
            settings["job_name" if option.text == "-N" else "partition"] = _mark_open(value)
        elif option.text == "-l" and (
            chunk := re.match(r"(select|nodes)=(\d+)((?::[\w.]+(?:=[\w.]+)?)*)", value.text or "")
        ):
            resources = dict(part.partition("=")[::2] for part in chunk[3].split(":") if part)
            settings["nodes"] = value._replace(text=chunk[2])
            for name, quantity in (
                ("ngpus", "gpus_per_node"),
                ("gpus", "gpus_per_node"),
                ("mpiprocs", "ntasks_per_node"),
            ):
                if name in resources:
                    settings[quantity] = value._replace(text=resources[name])
    return settings


def _read_lsf(words: tuple[Argument, ...]) -> dict[str, Argument]:
    """Read `-gpu num=4`, which counts on each host, `-nnodes`, `-J` and `-q`."""
    settings: dict[str, Argument] = {}
    names = {"-J": "job_name", "-q": "partition", "-nnodes": "nodes"}
    for option, value in itertools.pairwise(words):
        if option.text in names:
            settings[names[option.text]] = _mark_open(value)
        elif option.text == "-gpu" and (count := re.search(r"num=(\d+)", value.text or "")):
            settings["gpus_per_node"] = value._replace(text=count[1])
    return settings


# ---- nodes, tasks and GPUs


def nodes(stated: Mapping[str, Argument]) -> Field:
    """Return the nodes of a job; one if it requests no more than one task."""
    if "nodes" in stated:
        return processes.number(stated["nodes"])
    tasks, per_node = (
        processes.number(stated[name]) if name in stated else None for name in ("ntasks", "ntasks_per_node")
    )
    if tasks is not None and per_node is not None and isinstance(tasks.value, int) and isinstance(per_node.value, int):
        return Field(-(-tasks.value // max(per_node.value, 1)), (*tasks.origins, *per_node.origins))
    if tasks is not None and tasks.value != 1:
        return Field(Unknown("Slurm decides over how many nodes it spreads the tasks", QUEUE), tasks.origins)
    if "gpus" in stated and _count_gpus(stated["gpus"]).value != 1:
        return Field(
            Unknown("Slurm decides over how many nodes it spreads the GPUs", QUEUE), processes.origins(stated["gpus"])
        )
    return Field(1, source="default of the batch system", basis="open")


def tasks_per_node(stated: Mapping[str, Argument]) -> Field:
    """Return the tasks that the batch system starts on each node."""
    if "ntasks_per_node" in stated:
        return processes.number(stated["ntasks_per_node"])
    if "ntasks" in stated:
        whole, count = processes.number(stated["ntasks"]), nodes(stated)
        if (
            isinstance(whole.value, int)
            and isinstance(count.value, int)
            and count.value
            and whole.value % count.value == 0
        ):
            return Field(whole.value // count.value, (*whole.origins, *count.origins))
        return Field(Unknown("Slurm decides how it spreads the tasks over the nodes", QUEUE), whole.origins)
    if "ntasks_per_gpu" in stated:
        return Field(Unknown("tasks are counted by GPU"), processes.origins(stated["ntasks_per_gpu"]))
    return Field(1, source="default of the batch system", basis="open")


def gpus_per_node(stated: Mapping[str, Argument]) -> Field | None:
    """Return the GPUs of one node; None if no line requests any."""
    if "gpus_per_node" in stated:
        return _count_gpus(stated["gpus_per_node"])
    if "gres" in stated and (asked := _count_gres(stated["gres"])) is not None:
        return asked
    if "gpus_per_task" in stated:
        return _multiply(_count_gpus(stated["gpus_per_task"]), tasks_per_node(stated))
    if "gpus" in stated:
        return _divide(_count_gpus(stated["gpus"]), nodes(stated))
    return None


def gpus(stated: Mapping[str, Argument]) -> Field | None:
    """Return the GPUs of the whole job; None if no line requests any."""
    if not {"gpus_per_node", "gres", "gpus_per_task"} & stated.keys() and "gpus" in stated:
        return _count_gpus(stated["gpus"])
    per_node = gpus_per_node(stated)
    return None if per_node is None else _multiply(per_node, nodes(stated))


def _count_gpus(word: Argument) -> Field:
    """Count GPUs in `8`, `a100:8` or `volta:3,kepler:1`."""
    if word.text is None:
        return processes.number(word)
    parts = [TYPED.fullmatch(part.strip()) for part in word.text.split(",")]
    if not all(parts):
        return processes.number(word)
    return Field(sum(int(part["count"]) for part in parts if part), processes.origins(word))


def _count_gres(word: Argument) -> Field | None:
    """Return the GPUs among generic resources; one if no count is given."""
    if word.text is None:
        return Field(Unknown(word.why, processes.category(word)), processes.origins(word))
    parts = [match for part in re.split(r",(?![^(]*\))", word.text) if (match := GRES_GPU.fullmatch(part.strip()))]
    if not parts:
        return None
    return Field(sum(int(part["count"] or 1) for part in parts), processes.origins(word))


def _multiply(left_factor: Field, right_factor: Field) -> Field:
    return _combine(left_factor, right_factor, lambda left, right: left * right)


def _divide(whole: Field, parts: Field) -> Field:
    return _combine(
        whole,
        parts,
        lambda left, right: left // right if right and left % right == 0 else Unknown(f"{left} on {right} nodes"),
    )


def _combine(first: Field, second: Field, computed: Callable[[int, int], Value | Unknown]) -> Field:
    origins = (*first.origins, *second.origins)
    if not isinstance(first.value, int) or not isinstance(second.value, int):
        unknown = second if isinstance(first.value, int) else first
        return Field(unknown.value, unknown.origins)
    return Field(computed(first.value, second.value), origins)


# ---- the card


def read_accelerator(stated: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the accelerator that a job requests, or the line that leaves it to the cluster."""
    for quantity, types in (("gpus_per_node", TYPED), ("gres", GRES_GPU), ("gpus_per_task", TYPED), ("gpus", TYPED)):
        if quantity in stated and (named := _read_type(stated[quantity], types)):
            return named
    if "constraint" in stated and (left := _read_constraint(stated["constraint"])):
        return {"accelerator": left}
    deciding = next((name for name in DECIDING if name in stated and stated[name].text != ""), None)
    if deciding is None:
        return {}
    line = f"{deciding.replace('_', '-')} {stated[deciding].text or stated[deciding].origin.text()}"
    reason = Unknown(f"the accelerator depends on the cluster: {line} does not name it", QUEUE)
    return {"accelerator": Field(reason, processes.origins(stated[deciding]))}


def read_partition(stated: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the partition, the node features and the quality of service that a job names."""
    named = {"partition": "partition", "constraint": "node_features", "qos": "qos"}
    return {
        quantity: Field(stated[name].text, processes.origins(stated[name]))
        for name, quantity in named.items()
        if name in stated and stated[name].text
    }


def _read_type(word: Argument, types: re.Pattern[str]) -> dict[str, Field]:
    """Return the accelerator named by the type in `gpu:a100:8` or `a100:8`."""
    parts = (types.fullmatch(part.strip()) for part in re.split(r",(?![^(]*\))", word.text or ""))
    named = {part["type"] for part in parts if part and part["type"]}
    if len(named) != 1:
        return {}
    (name,) = named
    if mig := MIG.fullmatch(name):
        return {"mig_profile": Field(mig[1], processes.origins(word))}
    return {"accelerator": Field(identify_type(name), processes.origins(word))}


def identify_type(name: str) -> str | Unknown:
    """Return the accelerator of a type of GPU, or the products that share the type's name."""
    if product := find_accelerator(name):
        return product
    if family := hardware.find_family(name):
        return Unknown(f"{name} is one of {', '.join(family)}", QUEUE, choices=family)
    return Unknown(f"{name} is the cluster's own name", QUEUE)


def _read_constraint(word: Argument) -> Field | None:
    """Return the one accelerator that the features of a constraint allow; None if they name none."""
    alternatives = re.split(r"\|", re.sub(r"[\[\]()\s]", "", word.text or ""))
    left = [
        {product for part in alternative.split("&") for product in find_accelerators(re.sub(r"\*\d+$", "", part))}
        for alternative in alternatives
    ]
    if not any(left):
        return None
    if all(len(products) == 1 for products in left) and len(set.union(*left)) == 1:
        return Field(left[0].pop(), processes.origins(word))
    choices = tuple(sorted(set.union(*left))) if all(left) else ()
    return Field(Unknown(f"any of {word.text}", QUEUE, choices=choices), processes.origins(word))


def find_accelerators(name: str) -> tuple[str, ...]:
    """Return the accelerators that a cluster's own name may mean: one, or those that share the name."""
    product = find_accelerator(name)
    return (product,) if product else hardware.find_family(name)


def find_accelerator(name: str) -> str | None:
    """Return the accelerator of a cluster's own name, in common spellings and never by a part of a
    name.
    """
    for spelled in dict.fromkeys((name, name.upper(), re.sub(r"(?<=\d)G$", "GB", name.upper()).replace("_", "-"))):
        if product := hardware.find_accelerator(spelled):
            return product.id
    return _load_detected().get(name.lower().replace("_", "-"))


@functools.cache
def _load_detected() -> Mapping[str, str]:
    """Return accelerators by the name that Slurm detects: the driver's, in lower case."""
    return {
        value.lower(): product for (key, value), product in hardware.labels().items() if key == "nvidia.com/gpu.product"
    }


# ---- what the job's script sees


def variables(described: Job) -> dict[str, str | None]:
    """Return the variables that Slurm sets for the script; None for values known only at run time."""
    if described.scheduler != "Slurm":
        return {}
    stated = described.settings
    names: dict[str, str | None] = dict.fromkeys(SET_BY_SLURM)
    count, per_node, cards = nodes(stated), tasks_per_node(stated), gpus_per_node(stated)
    names["SLURM_NNODES"] = names["SLURM_JOB_NUM_NODES"] = _render_count(count)
    if {"ntasks", "ntasks_per_node"} & stated.keys():
        tasks = processes.number(stated["ntasks"]) if "ntasks" in stated else _multiply(per_node, count)
        names["SLURM_NTASKS"] = names["SLURM_NPROCS"] = _render_count(tasks)
    if cards is not None:
        names["SLURM_GPUS_ON_NODE"] = _render_count(cards)
    for name, quantity in (
        ("SLURM_NTASKS_PER_NODE", "ntasks_per_node"),
        ("SLURM_GPUS_PER_NODE", "gpus_per_node"),
        ("SLURM_GPUS_PER_TASK", "gpus_per_task"),
        ("SLURM_GPUS", "gpus"),
        ("SLURM_CPUS_PER_TASK", "cpus_per_task"),
        ("SLURM_JOB_NAME", "job_name"),
        ("SLURM_JOB_PARTITION", "partition"),
    ):
        if quantity in stated:
            names[name] = stated[quantity].text
    return names


def _render_count(field: Field) -> str | None:
    return str(field.value) if isinstance(field.value, int) else None
