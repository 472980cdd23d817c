"""Scheduled: contradictions between a batch job's lines, its launchers and its script's variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint import units
from gpulint.adapters.programs import processes as programs_processes
from gpulint.adapters.programs import slurm
from gpulint.adapters.programs.process import StartedCommand
from gpulint.adapters.programs.processes import Step
from gpulint.engines import Argument
from gpulint.workload import Field

ALONE = frozenset({"torchrun", "accelerate", "tune run"})
"""Launchers that start ranks only on the machine they run on."""
SPREADING = re.compile(
    r"(?m)^[^#\n]*\b(?:srun|mpirun|mpiexec|prun|ibrun|aprun|jsrun|pdsh|clush|ssh|ray|parallel|scontrol[ \t]+create|blaunch)\b"
)
"""Commands by which a script reaches the other nodes of its job."""
CORES = frozenset({"cpus_per_task", "cpus_per_gpu", "exclusive", "ntasks_per_node", "ntasks_per_gpu", "ntasks"})
"""Lines by which a job requests cores, or as many tasks as it needs cores."""
CARDS = frozenset({"gpus_per_node", "gres", "gpus_per_task", "gpus"})
CARRIED_ON = frozenset({"array", "requeue"})
CHAINED = re.compile(
    r"(?im)^(?:[^#\n]*(?:\bsbatch\b|resume|requeue|--load\b|load_dir|exit[-_]duration|exit[-_]interval|ckpt_path)"
    r"|#SBATCH[^\n]*(?:--requeue|--signal|--dependency|-d\s|--array|singleton))"
)
"""Signs that a run continues in further jobs: it starts one, resumes a checkpoint or stops early."""
NUMBERS = re.compile(r"\d+(?:,\d+)*")


def fields(
    command: StartedCommand, stated: Mapping[str, Argument], program_fields: Mapping[str, Field]
) -> dict[str, Field]:
    """Return the notable facts of a command in a batch job or on several nodes."""
    step = next((step for step in reversed(command.launch.steps) if step.launcher in programs_processes.RANKED), None)
    return {
        **dict(_check_job(command, stated, program_fields)),
        **dict(_check_launcher(command, step, stated, program_fields)),
    }


def nodes(step: Step) -> Field | None:
    """Return the nodes that a launcher waits for."""
    word = step.last("nodes") if step.launcher in ALONE else None
    counted = programs_processes.number(word) if word is not None else None
    return counted if counted is not None and isinstance(counted.value, int) else None


def _check_job(
    command: StartedCommand, stated: Mapping[str, Argument], program_fields: Mapping[str, Field]
) -> Iterator[tuple[str, Field]]:
    """Yield what the lines of a Slurm job with GPUs leave unset, or restrict."""
    asked = slurm.gpus_per_node(stated)
    if command.job is None or command.job.scheduler != "Slurm" or asked is None or asked.value == 0:
        return
    whole = stated.get("exclusive")
    if whole is not None and whole.text not in ("user", "mcs"):
        yield "whole_node", Field(True, programs_processes.origins(whole))
    if "time" not in stated:
        card = next(stated[name] for name in ("gpus_per_node", "gres", "gpus_per_task", "gpus") if name in stated)
        yield "time_limit_missing", Field(True, programs_processes.origins(card))
    elif (limit := _find_limit(command, stated)) is not None:
        yield "time_limit_s", limit
    if not CORES & stated.keys():
        card = next(stated[name] for name in ("gpus_per_node", "gres", "gpus_per_task", "gpus") if name in stated)
        yield "cores_unstated", Field(True, programs_processes.origins(card))
    if (word := stated.get("no_requeue")) is not None:
        yield "requeue_refused", Field(True, programs_processes.origins(word))
    visible = command.environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and NUMBERS.fullmatch(visible.text or "") and "gpus_per_task" not in stated:
        yield (
            "highest_visible_device",
            Field(max(map(int, str(visible.text).split(","))), programs_processes.origins(visible)),
        )


def _find_limit(command: StartedCommand, stated: Mapping[str, Argument]) -> Field | None:
    """Return the time limit of a job that no other job continues."""
    word = stated["time"]
    if word.text is None or CARRIED_ON & stated.keys() or CHAINED.search(word.origin.document.text):
        return None
    try:
        seconds = units.batch_seconds(word.text)
    except ValueError:
        return None
    return Field(seconds, programs_processes.origins(word)) if seconds else None


def _check_launcher(
    command: StartedCommand, step: Step | None, stated: Mapping[str, Argument], program_fields: Mapping[str, Field]
) -> Iterator[tuple[str, Field]]:
    """Yield the settings of a launcher that do not match its job or nodes."""
    in_job = command.job is not None or bool({"nodes", *CARDS} & stated.keys())
    by_slurm = any(other.launcher == "srun" for other in command.launch.steps)
    if (local := programs_processes.rendezvous(step, command.environment)) is not None and (
        by_slurm or command.job is None
    ):
        yield "local_rendezvous", local
    if step is None:
        return
    tasks = slurm.tasks_per_node(stated) if by_slurm else Field(1)
    if in_job and tasks.value == 1 and (counted := nodes(step)) is not None:
        yield "launcher_nodes", counted
    if step.stated.get("standalone") and by_slurm:
        yield "standalone", Field(True, programs_processes.origins(step.stated["standalone"][-1]))
    if by_slurm and step.launcher in ALONE and tasks.origins:
        processes = program_fields.get("processes_per_pod")
        if (
            isinstance(tasks.value, int)
            and processes is not None
            and isinstance(processes.value, int)
            and processes.value > 1
        ):
            yield "launchers_per_pod", tasks
    if by_slurm and step.launcher == "srun" and "gpus_per_task" in stated and "gpu_bind" not in stated:
        yield "gpus_isolated", Field(True, programs_processes.origins(stated["gpus_per_task"]))
    if _is_first_node_only(command, step, by_slurm):
        yield "first_node_only", Field(step.launcher, programs_processes.origins(step.word))


def _is_first_node_only(command: StartedCommand, step: Step, by_slurm: bool) -> bool:
    """Return True if a job's script starts a launcher on its own node and reaches no other node."""
    if command.job is None or command.job.scheduler != "Slurm" or by_slurm or step.launcher not in ALONE:
        return False
    if any(other.launcher not in {*ALONE, "docker run", "apptainer", "shifter"} for other in command.launch.steps):
        return False
    return SPREADING.search(step.word.origin.document.text) is None
