"""Rules of storage over small specs: what must speak, and as much that must stay silent."""

from __future__ import annotations

import textwrap

import pytest
import samples

from gpulint.pipeline import enrichment
from gpulint.policy.rules import rule
from gpulint.source import documents

OURS = [
    one
    for one in rule.load_shipped().values()
    if one.family == "storage" or one.name in ("group-timeout-below-save", "gang-never-restarted")
]
CLAIM = """
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: weights}}
spec:
  accessModes: [{mode}]
  {more}
  resources: {{requests: {{storage: {size}}}}}
"""
CACHE = "{name: cache, mountPath: /root/.cache/huggingface}"
VOLUME = "{name: cache, persistentVolumeClaim: {claimName: weights}}"


def claim(mode: str = "ReadWriteOnce", kind: str = "", size: str = "100Gi") -> str:
    return CLAIM.format(mode=mode, more=f"storageClassName: {kind}" if kind else "volumeMode: Filesystem", size=size)


def server(
    replicas: int = 1,
    kind: str = "Deployment",
    mounts: str = "",
    volumes: str = "",
    env: str = "",
    limits: str = "",
    spec: str = "",
    pod: str = "",
    image: str = "vllm/vllm-openai:v0.11.0",
    args: str = "--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=8192",
) -> str:
    return textwrap.dedent(f"""\
        apiVersion: apps/v1
        kind: {kind}
        metadata: {{name: chat}}
        spec:
          replicas: {replicas}
          {spec or "minReadySeconds: 0"}
          template:
            spec:
              nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}
              {pod or "priority: 0"}
              volumes: [{volumes}]
              containers:
                - name: server
                  image: {image}
                  args: [{args}]
                  env: [{env}]
                  volumeMounts: [{mounts}]
                  resources: {{limits: {{nvidia.com/gpu: 1{limits}}}}}
        """)


def run(folder: str = "/checkpoints", mounts: str = "", volumes: str = "", more: str = "", words: str = "") -> str:
    return textwrap.dedent(f"""\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: train}}
        spec:
          template:
            spec:
              restartPolicy: Never
              nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}
              volumes: [{volumes}]
              containers:
                - name: trainer
                  image: registry.example.com/trainer:1
                  command:
                    - python
                    - run_clm.py
                    - --model_name_or_path=meta-llama/Llama-3.1-8B
                    - --per_device_train_batch_size=1
                    - --do_train
                    - --output_dir={folder}
                    {words or "- --bf16"}
                  volumeMounts: [{mounts}]
                  resources: {{limits: {{nvidia.com/gpu: 1}}}}
                {more}
        """)


def own(words: str, mounts: str = "", pod: str = "") -> str:
    return textwrap.dedent(f"""\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: train}}
        spec:
          template:
            spec:
              restartPolicy: Never
              volumes: [{{name: data, persistentVolumeClaim: {{claimName: data}}}}]
              containers:
                - name: trainer
                  image: registry.example.com/trainer:1
                  {pod or "imagePullPolicy: Always"}
                  command: [torchrun, --nproc_per_node=8, {words}]
                  volumeMounts: [{mounts}]
                  resources: {{limits: {{nvidia.com/gpu: 8}}}}
        """)


def gang(
    job: str, policy: str = "", pods: int = 4, gpus: str = "nvidia.com/gpu: 8", saves: str = "--save_steps=500"
) -> str:
    return textwrap.dedent(f"""\
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {{name: train}}
        spec:
          {policy or "suspend: false"}
          replicatedJobs:
            - name: workers
              template:
                spec:
                  parallelism: {pods}
                  completions: {pods}
                  {job}
                  template:
                    spec:
                      containers:
                        - name: trainer
                          image: registry.example.com/trainer:1
                          command: [torchrun, train.py, {saves}]
                          resources: {{limits: {{{gpus}}}}}
        """)


def said(text: str, files: dict[str, bytes] | None = None) -> set[str]:
    return {one.rule for one in samples.report(text, rules=OURS, files=files, alternatives=False).open}


PVC = {"mounts": CACHE, "volumes": VOLUME}
LIMIT = ", ephemeral-storage: 10Gi"
SHARED, LOST, SURGE = "single-node-volume-shared", "checkpoints-lost-with-job", "rollout-waits-for-volume"

SPEAK = [
    ("two replicas of a disk", server(2, **PVC) + claim(kind="gp3"), {SHARED}),
    ("two replicas of a claim without a class", server(2, **PVC) + claim(), {SHARED}),
    ("one pod only", server(2, **PVC) + claim("ReadWriteOncePod", "gp3"), {"single-pod-volume-shared"}),
    ("a rollout of a disk", server(1, **PVC) + claim(kind="gp3"), {SURGE}),
    (
        "a disk too small",
        server(1, spec="strategy: {type: Recreate}", **PVC) + claim(kind="gp3", size="10Gi"),
        {"volume-smaller-than-weights"},
    ),
    ("a claim too small", server(**PVC) + claim(size="10Gi"), {"claim-smaller-than-weights"}),
    ("a download over the limit", server(limits=LIMIT), {"ephemeral-limit-below-weights"}),
    (
        "a download to an emptyDir over the limit",
        server(limits=LIMIT, mounts=CACHE, volumes="{name: cache, emptyDir: {}}"),
        {"ephemeral-limit-below-weights"},
    ),
    ("a fleet that downloads", server(3), {"weights-downloaded-by-every-pod"}),
    (
        "a cache in the container",
        server(mounts="{name: cache, mountPath: /root/.cache/huggingface, readOnly: true}", volumes=VOLUME),
        {"hub-cache-read-only"},
    ),
    (
        "a mount inside the cache",
        server(mounts="{name: cache, mountPath: /root/.cache/huggingface/hub, readOnly: true}", volumes=VOLUME),
        {"hub-cache-read-only"},
    ),
    (
        "a memory volume over the limit",
        server(
            limits=", memory: 32Gi",
            mounts="{name: shm, mountPath: /dev/shm}",
            volumes="{name: shm, emptyDir: {medium: Memory, sizeLimit: 33Gi}}",
        ),
        {"memory-volume-exceeds-limit"},
    ),
    ("checkpoints in the container", run(), {LOST}),
    (
        "checkpoints in an emptyDir",
        run(mounts="{name: o, mountPath: /checkpoints}", volumes="{name: o, emptyDir: {}}"),
        {LOST},
    ),
    ("checkpoints of a program of one's own", own("/app/train.py, --save_steps=50, --checkpoint_dir=./runs"), {LOST}),
    ("a JobSet without a second try", gang("backoffLimit: 0"), {"gang-never-restarted"}),
    (
        "a JobSet that is told not to try again",
        gang("backoffLimit: 0", "failurePolicy: {maxRestarts: 0}"),
        {"gang-never-restarted"},
    ),
]

SILENT = [
    ("a volume that nodes share", server(2, **PVC) + claim("ReadWriteMany", "efs-sc")),
    ("a shared class under another mode", server(2, **PVC) + claim("ReadWriteOnce", "nfs-client")),
    ("a folder of one node", server(2, **PVC) + claim(kind="local-path")),
    ("pods of one node", server(2, pod="nodeName: big", **PVC) + claim()),
    ("pods that seek each other", server(2, pod="affinity: {podAffinity: {}}", **PVC) + claim()),
    (
        "a claim for each pod",
        server(
            2,
            "StatefulSet",
            CACHE,
            spec="volumeClaimTemplates: [{metadata: {name: cache}, spec: {accessModes: [ReadWriteOnce]}}]",
        ),
    ),
    ("a claim nobody defines", server(2, **PVC)),
    ("an update that stops first", server(1, spec="strategy: {type: Recreate}", **PVC) + claim(kind="gp3")),
    (
        "an update without surge",
        server(1, spec="strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", **PVC) + claim(kind="gp3"),
    ),
    (
        "an update that may do without",
        server(1, spec="strategy: {rollingUpdate: {maxUnavailable: 1}}", **PVC) + claim(kind="gp3"),
    ),
    ("a StatefulSet's update", server(1, "StatefulSet", **PVC) + claim(kind="gp3")),
    ("a size that nobody enforces", server(**PVC) + claim(kind="local-path", size="1Gi")),
    ("a size that EFS ignores", server(2, **PVC) + claim("ReadWriteMany", "efs-sc", "100Gi")),
    ("a claim that is large enough", server(**PVC) + claim(size="20Gi")),
    ("a cache on a volume", server(limits=LIMIT, **PVC)),
    (
        "a cache moved to a volume",
        server(
            limits=LIMIT, env="{name: HF_HOME, value: /data}", mounts="{name: cache, mountPath: /data}", volumes=VOLUME
        ),
    ),
    (
        "a folder of downloads of its own",
        server(
            limits=LIMIT, args="--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=8192, --download-dir=/models"
        ),
    ),
    (
        "an image of one's own",
        server(
            3,
            limits=LIMIT,
            image="registry.example.com/llama:1",
            args="vllm, serve, meta-llama/Llama-3.1-8B-Instruct, --max-model-len=8192",
        ),
    ),
    (
        "an image of Google with another cache",
        server(
            limits=LIMIT,
            image="us-docker.pkg.dev/gcr.io/huggingface-text-generation-inference-cu124",
            args="--model-id=meta-llama/Llama-3.1-8B-Instruct",
        ),
    ),
    ("a limit that is large enough", server(limits=", ephemeral-storage: 20Gi")),
    ("two replicas", server(2)),
    ("a fleet with a small network", server(8, args="--model=facebook/opt-125m")),
    ("a fleet offline", server(3, env="{name: HF_HUB_OFFLINE, value: '1'}")),
    (
        "a path in a read-only volume",
        server(
            args="--model=/models/Llama-3.1-8B-Instruct, --max-model-len=8192",
            mounts="{name: cache, mountPath: /models, readOnly: true}",
            volumes=VOLUME,
        ),
    ),
    (
        "a read-only cache offline",
        server(
            env="{name: HF_HUB_OFFLINE, value: '1'}",
            mounts="{name: cache, mountPath: /root/.cache/huggingface, readOnly: true}",
            volumes=VOLUME,
        ),
    ),
    (
        "a memory volume at the limit",
        server(
            limits=", memory: 32Gi",
            mounts="{name: shm, mountPath: /dev/shm}",
            volumes="{name: shm, emptyDir: {medium: Memory, sizeLimit: 32Gi}}",
        ),
    ),
    (
        "a memory volume that another container mounts",
        server(limits=", memory: 32Gi", volumes="{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}"),
    ),
    (
        "checkpoints on a volume",
        run(mounts="{name: o, mountPath: /checkpoints}", volumes="{name: o, nfs: {server: a, path: /b}}"),
    ),
    ("checkpoints in a bucket", run("s3://runs/one")),
    ("checkpoints pushed to a hub", run(words="- --push_to_hub")),
    ("checkpoints that a neighbour may fetch", run(more="- {name: uploader, image: registry.example.com/uploader:1}")),
    (
        "checkpoints in a relative folder of a program that lies on a volume",
        own("train.py, --save_steps=50, --checkpoint_dir=./runs", "{name: data, mountPath: /work}"),
    ),
    ("a folder that is read", own("/app/train.py, --checkpoint_dir=./llama")),
    (
        "a working directory on a volume",
        own(
            "train.py, --save_steps=50, --checkpoint_dir=./runs", "{name: data, mountPath: /work}", "workingDir: /work"
        ),
    ),
    ("a JobSet that tries again", gang("backoffLimit: 0", "failurePolicy: {maxRestarts: 3}")),
    ("a JobSet whose jobs try again", gang("backoffLimit: 3")),
    ("a JobSet of one pod", gang("backoffLimit: 0", pods=1)),
    ("a JobSet without cards", gang("backoffLimit: 0", gpus="cpu: 8")),
    (
        "a JobSet that recomputes activations",
        gang("backoffLimit: 0", saves="--activation_checkpoint.mode=full, --gradient_checkpointing"),
    ),
    ("a JobSet that saves nothing", gang("backoffLimit: 0", saves="--max_steps=10")),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in SPEAK], ids=[case[0] for case in SPEAK])
def test_it_speaks(text: str, expected: set[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize("text", [case[1] for case in SILENT], ids=[case[0] for case in SILENT])
def test_it_stays_silent(text: str) -> None:
    assert said(text) == set()


# ---- claims and classes of other files

CLASS = b"""
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: nfs.csi.k8s.io
"""


def test_a_claim_of_another_file_counts() -> None:
    assert said(server(2, **PVC), {"pvc.yaml": claim(kind="gp3").encode()}) == {SHARED}


def test_claims_of_one_name_in_two_files_tell_nothing() -> None:
    one, other = claim(kind="gp3").encode(), claim(kind="premium-rwo").encode()
    assert said(server(2, **PVC), {"a/pvc.yaml": one, "b/pvc.yaml": other}) == set()


def test_a_class_that_the_repository_defines_goes_before_its_name() -> None:
    assert said(server(2, **PVC) + claim(kind="gp3"), {"class.yaml": CLASS}) == set()


LUSTRE = b"""
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: scratch}
provisioner: fsx.csi.aws.com
parameters: {perUnitStorageThroughput: "125"}
"""


def test_what_a_class_of_lustre_gives_each_tebibyte_is_multiplied() -> None:
    """Amazon FSx API reference: 2.4 TiB with 50 MB/s for each TiB give 120 MB/s."""
    text = run(
        mounts="{name: o, mountPath: /checkpoints}", volumes="{name: o, persistentVolumeClaim: {claimName: weights}}"
    )
    files = {"class.yaml": LUSTRE.replace(b"125", b"50")}
    (document, _) = documents.load("job.yaml", (text + claim("ReadWriteMany", "scratch", "2.4Ti")).encode()).documents
    (found,) = enrichment.read(document, samples.ExampleRepository(files))
    assert found.roles[0].value("provisioned_write_bytes_per_s") == pytest.approx(120e6)


# ---- batch jobs

SLURM = """\
#!/bin/bash
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=24:00:00
torchrun --nproc_per_node=8 run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 4 --do_train --output_dir {}
"""


@pytest.mark.parametrize("folder", ["/tmp/run", "$TMPDIR/run", '"${SLURM_TMPDIR}/run"', "/dev/shm/run"])
def test_a_folder_that_ends_with_a_batch_job_is_no_place_for_checkpoints(folder: str) -> None:
    report = samples.report(SLURM.format(folder), path="train.sbatch.sh", rules=OURS)
    assert {one.rule for one in report.open} == {LOST}


@pytest.mark.parametrize(
    "text",
    [
        SLURM.format("/scratch/me/run"),
        SLURM.format("runs"),
        SLURM.format("$HOME/run"),
        SLURM.format("/tmp/run") + "cp -r /tmp/run $HOME\n",
        SLURM.format("/tmp/run") + "aws s3 sync /tmp/run s3://runs\n",
        SLURM.format("/tmp/run").replace("#SBATCH", "# SBATCH"),
    ],
)
def test_a_folder_that_stays_or_is_brought_back_is(text: str) -> None:
    assert samples.report(text, path="train.sbatch.sh", rules=OURS).open == ()


# ---- charts

VALUES = """\
servingEngineSpec:
  modelSpec:
    - name: llama
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: meta-llama/Llama-3.1-8B-Instruct
      replicaCount: {replicas}
      requestGPU: 1
      pvcStorage: 50Gi
      {more}
"""


@pytest.mark.parametrize("more", ["pvcAccessMode: [ReadWriteOnce]", "storageClass: gp3"])
def test_a_chart_with_one_claim_for_all_replicas_speaks(more: str) -> None:
    report = samples.report(VALUES.format(replicas=2, more=more), path="values.yaml", rules=OURS)
    assert {one.rule for one in report.open} == {SHARED}


@pytest.mark.parametrize(
    ("replicas", "more"),
    [(1, "pvcAccessMode: [ReadWriteOnce]"), (2, "pvcAccessMode: [ReadWriteMany]"), (2, "pvcExistingClaimName: mine")],
)
def test_a_chart_with_one_replica_or_a_shared_claim_stays_silent(replicas: int, more: str) -> None:
    report = samples.report(VALUES.format(replicas=replicas, more=more), path="values.yaml", rules=OURS)
    assert report.open == ()


# ---- when a run saves

TRAINED = "torchrun --nproc_per_node=8 run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 4 --do_train"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--save_steps 500", 500),
        ("--save_strategy steps --save_steps 500", 500),
        ("--save_strategy no --save_steps 500", None),
        ("--save_strategy epoch", None),
        ("", None),
    ],
)
def test_steps_count_only_where_the_run_saves_by_steps(words: str, expected: int | None) -> None:
    (document,) = documents.load("train.sh", f"#!/bin/bash\n{TRAINED} {words}\n".encode()).documents
    (found,) = enrichment.read(document, samples.ExampleRepository())
    value = found.roles[0].value("save_steps")
    assert (value if isinstance(value, int) else None) == expected
