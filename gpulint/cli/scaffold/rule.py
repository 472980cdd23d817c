"""Rule scaffold: the file that `gpulint rule new` writes, a small rule that passes its own
examples.
"""

from __future__ import annotations

import re

WORKLOAD = """\
# {name}: what the rule finds, in the name of its file. `gpulint rule test {folder}` runs its samples.

# What is wrong, in one line without a full stop.
summary: An instance takes more GPUs than one node holds

# error: it fails or wastes most of what it costs; warning: it probably hurts; note: good to know.
severity: warning

# What it is about. scope: workload compares facts; kind (inference, training) and engine (vllm, …) narrow it.
for: {{scope: workload}}

# What happens to the user if nothing changes.
why: Several nodes are taken at once; the platform team reserves them first, or the pods wait.

# The condition, in CEL, over facts in base units: `gpulint facts WORD` finds them. A fact that may be null is guarded:
# host_memory_bytes != null && host_memory_bytes > 1e11. An unknown fact leaves the rule *not evaluated*.
when: gpus_per_replica > 8

# Where the finding is reported: the first of these facts that the file declares.
at: [gpus_per_pod]

# The message. Facts in braces are printed in human units.
message: "{{gpus_per_replica}} GPUs for one instance; above 8, ask the platform team first"

# Where the reader finds more.
# references: [https://git.example.com/platform/docs/gpus.md]

# The samples that test it: the smallest spec that is wrong, its line marked, and the smallest change that is right.
examples:
  bad:
    - |
      apiVersion: v1
      kind: Pod
      metadata: {{name: chat}}
      spec:
        containers:
          - name: server
            image: vllm/vllm-openai:v0.10.1
            resources: {{limits: {{nvidia.com/gpu: 16}}}}  # <- here
  good:
    - |
      apiVersion: v1
      kind: Pod
      metadata: {{name: chat}}
      spec:
        containers:
          - name: server
            image: vllm/vllm-openai:v0.10.1
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
DOCUMENT = """\
# {name}: what the rule finds, in the name of its file. `gpulint rule test {folder}` runs its samples.

# What is wrong, in one line without a full stop.
summary: A PersistentVolumeClaim names no storage class

# error: it fails or wastes most of what it costs; warning: it probably hurts; note: good to know.
severity: warning

# What it is about. scope: document reads objects as data; kind narrows it to objects of that kind.
for: {{scope: document, kind: PersistentVolumeClaim}}

# What happens to the user if nothing changes.
why: The cluster's default class is slow; weights take minutes longer to load.

# The condition, in CEL. `object` is the document; has() asks whether a key is there before it is read.
when: "!has(object.spec.storageClassName)"

# The message.
message: no storageClassName; name one, or the default class is taken

# Where the reader finds more.
# references: [https://git.example.com/platform/docs/storage.md]

# The samples that test it: the smallest object that is wrong, its line marked, and the smallest change that is right.
examples:
  bad:
    - |
      apiVersion: v1
      kind: PersistentVolumeClaim  # <- here
      metadata: {{name: weights}}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {{requests: {{storage: 200Gi}}}}
  good:
    - |
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {{name: weights}}
      spec:
        storageClassName: fast
        accessModes: [ReadWriteOnce]
        resources: {{requests: {{storage: 200Gi}}}}
"""
TEXTS = {"workload": WORKLOAD, "document": DOCUMENT}
WORD = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
ARTICLES = ("a", "an", "the")
PREFIXES = ("no", "check", "ensure", "must", "require")
"""A rule is named for its defect, not for the remedy."""


def render(name: str, scope: str, folder: str) -> str:
    """Return a rule file that passes its own examples."""
    return TEXTS[scope].format(name=name, folder=folder)


def find_naming_error(name: str, what: str = "rule") -> str:
    """Return what is wrong with the name of a rule or family, with a valid one; empty if nothing
    is.
    """
    words = re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower())
    kept = [word for word in words if word not in ARTICLES]
    if not WORD.fullmatch(name):
        return f"{name} is not in kebab-case" + (f"; write {'-'.join(kept)}" if kept else "")
    if what == "family":
        return ""
    if len(kept) < len(words):
        return f"{name} contains an article; write {'-'.join(kept)}"
    if words[0] in PREFIXES:
        return f"{name} says what to do; name the defect, as in gpu-limit-missing or replicas-beyond-quota"
    return "" if len(words) > 1 else f"{name} is one word; say what is wrong with it, as in {name}-missing"
