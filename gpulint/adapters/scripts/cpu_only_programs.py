"""CPU-only programs of a script: tools, clients of servers, data preparation and monitors."""

from __future__ import annotations

import re

from gpulint.adapters.programs import launchers
from gpulint.adapters.programs.process import SUBMITS, StartedCommand
from gpulint.adapters.programs.program_name import PREPARES

CLUSTER = frozenset(
    {
        *("kubectl", "helm", "gcloud", "aws", "az", "eksctl", "terraform", "oc", "kustomize", "kind"),
        *("minikube", "sky", "dstack", "ramble", "gsutil"),
    }
)
CLUSTER_LINE = re.compile(rf"(?m)^[ \t]*(?:{'|'.join(sorted(CLUSTER))})[ \t]")
TOOLS = PREPARES | CLUSTER | SUBMITS
TOOLS |= frozenset(
    {
        *("nvidia-smi", "scontrol", "squeue", "sinfo", "sacct", "scancel", "make", "cmake", "ray", "docker"),
        *("podman", "apptainer", "singularity", "enroot", "screen", "tmux", "pytest", "coverage"),
        *("pre-commit", "bash", "sh", "zsh", "clear", "time", "sort", "seq", "xargs", "jq", "nc", "dcgmi"),
        *("sbcast", "pkill", "killall", "lsof", "stat", "dirname", "basename", "readlink", "realpath", "tr"),
        *("cut", "wc", "uniq", "diff", "rsync", "scp", "ssh", "nvcc", "gcc", "git-lfs", "wandb", "which"),
        *("type", "spack", "mapfile", "readarray", "exec", "umask", "hash", "jobs", "disown", "popd", "pushd"),
        *("getopts", "ds_report", "yes"),
    }
)
"""Programs that compute nothing on GPUs, or whose own scripts are read."""
CLIENTS = re.compile(
    r"(?:.*[./_-])?(?:genai-perf|aiperf|guidellm|locust|inference-perf|evalscope|bench_serving|benchmark_serving\w*|"
    r"backend_request_func|bench_one_batch_server|k6|vegeta|wrk|hey)(?:\.py)?"
)
PREPARATION = re.compile(
    r"(?:.*[/._-])?(?:preprocess|prepare|venv|virtualenv|pip|download|convert|tokeni[sz]e|install|build|"
    r"collect|aggregate|summari[sz]e|setup|clone|merge|upload|plot)(?:$|[._-].*)",
    re.IGNORECASE,
)
MONITOR = re.compile(
    r"(?:(?:^|[/-])(?:dcgm|k8s-device-plugin|gpu-feature-discovery)|(?<![\w-])[\w-]*exporter)(?:[:@-]|$)"
)
"""Images that monitor or announce GPUs and do not compute on them."""


def is_client(program: StartedCommand) -> bool:
    """Return whether a command only sends requests to a server."""
    words = [word.text or launchers.base(word) for word in program.words[:4]]
    return words[1:2] == ["bench"] or any(CLIENTS.fullmatch(word) for word in words[:3])


def is_monitor(program: StartedCommand) -> bool:
    """Return whether a container only monitors or announces the GPUs that it sees."""
    image = program.launch.image
    return image is not None and MONITOR.search(image.source_text) is not None


def prepares(program: StartedCommand) -> bool:
    """Return whether a program's name implies that it works on data or files."""
    return any(PREPARATION.fullmatch(word.text or launchers.base(word)) for word in program.words[:3])
