"""Scaffold: what `gpulint init` writes: settings with the hints that a repository lacks, a hook,
and a native spec.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.report.formats import questions
from gpulint.report.model import Report, Severity, WorkloadSummary

HOOK = """\
repos:
  - repo: {address}
    rev: v{release}
    hooks:
      - id: gpulint
"""

SPEC = """\
# A workload that no other file describes, in gpulint's own format. Check it with: gpulint check FILE
# Every quantity and its unit: gpulint explain NAME. Delete the lines that you do not need.
apiVersion: gpulint/v1
kind: InferenceService          # or TrainingJob
metadata:
  name: chat
spec:
  # objective:                  # service-level objectives; docs/objectives.md
  #   tpot: 50ms                # from one token of an answer to the next
  #   ttft: 1s                  # from a request to its first token
  #   concurrency: 64           # concurrent requests
  #   prompt-tokens: 2000       # of a typical request
  #   output-tokens: 300
  roles:                        # prefill and decode, or leader and worker, are roles of one workload
    - name: server
      engine: vllm
      engine_version: "0.19.0"  # unknown is allowed: leave it out
      checkpoint: meta-llama/Llama-3.1-8B-Instruct
      accelerator: h100-sxm-80gb    # gpulint catalog accelerators
      gpus_per_pod: 1
      tensor_parallel: 1
      max_model_len: 32768      # tokens of prompt and answer together
      # gpu_memory_utilization: 0.92
      # kv_cache_dtype: fp8
      # architecture:           # the shape of a checkpoint that no catalog lists
      #   parameters: 8030261248
      #   layers: 32
"""

FACILITY = """\
# The racks that house GPUs. Draw them with: gpulint facility FILE. Check them with: gpulint check FILE
# Delete the lines that you do not need: gpulint assumes no undeclared value. Every key and its unit: schemas/facility.json
apiVersion: gpulint/v1
kind: Facility
metadata:
  name: our-site
spec:
  # pue: 1.3
  # energy_price: 0.14              # USD per kWh
  # power_limit: 1.2 MW             # of a rack, row, room, panel or all
  code: NEC                         # or IEC: what breakers may carry for hours
  rooms:
    - name: hall-1
      cooling: contained            # room, contained, in-row, rear-door, direct-liquid or immersion
      # cooling_capacity: 400 kW    # heat that the units of the room take; also of a rack, a site or a CDU
      # inlet: 22 C
      # inlet_class: A2
      # floor_limit: 1200 kg/m2
      racks:
        - name: r[01-08]            # eight racks alike
          units: 48
          cooling_capacity: 30 kW
          # load_limit: 1360 kg
          # pool: h100
          redundancy: N+1           # N, N+1 or 2N: which feeds may fail
          feeds:                    # voltage between lines; feeds of one side fail together
            - {name: A, voltage: 415 V, phases: 3, breaker: 60 A}
            - {name: B, voltage: 415 V, phases: 3, breaker: 60 A}
            - {name: C, voltage: 415 V, phases: 3, breaker: 60 A}
            # - {name: D, voltage: 415 V, phases: 3, breaker: 60 A, side: C, panel: rpp-1, outlets: {C19: 12}}
          servers:
            - {type: DGX H100, count: 2, position: 3}     # gpulint catalog servers
            # - {name: head, count: 2, power: 800 W, units: 2, psus: 2, psus_needed: 1, weight: 30 kg}
  # panels:                         # what supplies the feeds
  #   - {name: rpp-1, power_limit: 500 kW}
  # pools:                          # how workloads map to racks: node labels, a partition, a queue
  #   - {name: h100, labels: {pool: h100}}
"""

HEAD = """\
# Settings of gpulint; every key is optional. The nearest gpulint.yaml above a file counts: gpulint policy show FILE
# For completion in an editor: gpulint policy schema > gpulint.schema.json, and begin this file with the line
# "# yaml-language-server: $schema=gpulint.schema.json"
# extends: [recommended]      # packs by name (gpulint policy packs), ./files of this repository, package:NAME
# fail-on: error              # error, warning or note
# ignore: [oversizing]        # rules or families to turn off
# severity: {util-too-high: error, interconnect: note}    # error, warning, note or off
# overrides:                  # settings for some paths; later entries win
#   - {paths: [dev/], severity: {oversizing: off}}
# exclude: [third_party/]     # paths to leave out, as in .gitignore
# rules: [policies/gpulint]   # folders with rules of your own
# accelerator: h100-sxm-80gb  # for workloads that name none
# Or declare it in the file, in the workload's own lines: # gpulint: accelerator=h100-sxm-80gb gpus=8
# objectives:                 # targets of services and training runs
#   - {path: "serving/*", tpot: 50ms, concurrency: 64, prompt-tokens: 2000, output-tokens: 300}
# facility: facility.yaml     # the racks that workloads run in: gpulint init --facility
# like:                       # private checkpoints with the architecture of a known one
#   /models/our-chat: meta-llama/Llama-3.1-8B-Instruct
"""


ASKED = {
    "accelerator": {"accelerator"},
    "checkpoint": {"checkpoint"},
    "gpus": {"gpus_per_pod", "gpus_per_replica"},
    "nodes": {"pods_per_replica"},
}
"""The keys of a hint, with the quantities that checks may lack."""


def render_settings(report: Report) -> str:
    """Return gpulint.yaml with a commented line for each value that workloads lack: one for each partition, not for each job."""
    hints = [*_render_hardware(report), *_render_hints(report)]
    if not hints:
        return HEAD + "# hints: []                   # values that files do not declare; none is missing now\n"
    return HEAD + "\n# Values that these files do not declare: fill in and uncomment.\n" + "\n".join(hints) + "\n"


def render_hook(address: str, release: str) -> str:
    """Return .pre-commit-config.yaml with the hook of one release of the repository at an address."""
    return HOOK.format(address=address, release=release)


def _find_missing(workload: WorkloadSummary) -> list[str]:
    """Return the missing values of a workload that a hint can declare."""
    needs = {need for role in workload.roles for lack in role.not_evaluated for need in lack.needs}
    return [key for key, names in ASKED.items() if names & needs]


def _render_hardware(report: Report) -> Iterator[str]:
    """Yield a pool for each partition whose GPU is not known, then one accelerator for all other workloads that name none."""
    lacking = [workload for workload in report.workloads if "accelerator" in _find_missing(workload)]
    partitions = Counter(filter(None, (_find_partition(workload) for workload in lacking)))
    if partitions:
        yield "# pools:"
    for name, number in partitions.most_common():
        shown = questions.quote(name)
        yield f"#   - {{name: {shown}, partition: {shown}, accelerator: , gpus: }}    # {_count_noun(number, 'workload')}"
    if left := len(lacking) - partitions.total():
        yield f"# accelerator:    # named by none of {_count_noun(left, 'workload')}"


def _find_partition(workload: WorkloadSummary) -> str:
    """Return the partition that decides the accelerator of a workload; empty if none does."""
    return next(filter(None, map(questions.find_partition, workload.roles)), "")


def _render_hints(report: Report) -> Iterator[str]:
    """Yield the values that only a workload itself can state."""
    found = (
        (workload, [key for key in _find_missing(workload) if key != "accelerator"]) for workload in report.workloads
    )
    hints = [(workload, lacking) for workload, lacking in found if lacking]
    if hints:
        yield "# hints:"
    for workload, lacking in hints:
        yield f"#   - path: {workload.location.path}"
        yield f"#     workload: {workload.name}"
        yield from (f"#     {key}:" for key in lacking)


def describe(report: Report, facility: str | None = None) -> str:
    """Return what was found and the next steps, including a facility file if one was written."""
    lacking = sum(bool(_find_missing(workload)) for workload in report.workloads)
    found = len(report.workloads)
    counts = Counter(finding.severity for finding in report.open)
    standing = ", ".join(_count_noun(counts[level], level.word) for level in reversed(Severity) if counts[level])
    room = (
        [f"  gpulint facility {facility}  draws its racks; replace the example racks with yours first"]
        if facility
        else []
    )
    lines = [f"{_count_noun(found, 'workload')} found, {lacking} of them without a value that a hint can declare"]
    steps = [
        *([f"current findings: {standing}"] if standing else []),
        "next",
        *room,
        *(BASELINE if standing else ()),
        *STEPS,
    ]
    return "".join(f"{line}\n" for line in (*lines, *steps))


BASELINE = ("  gpulint baseline           accepts the current findings, so that only new ones are reported",)
STEPS = (
    "  pre-commit install         checks the files of each commit; gpulint init --hook writes the hook",
    "  gpulint check --base main  reports only what a branch changes",
)


def _count_noun(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
