"""Interconnect: what variables and pods say of the network between ranks, and what stays silent."""

from __future__ import annotations

import pytest
import reading
import samples

EFA = "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32"
MACHINE = "node.kubernetes.io/instance-type: p5.48xlarge"
BATCH = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n#SBATCH --time=1:00:00\n{}srun python train.py\n"
MEMORY = "volumeMounts: [{name: shm, mountPath: /dev/shm}]"


def job(
    variables: str = "",
    limits: str = EFA,
    workers: int = 4,
    selector: str = MACHINE,
    spec: str = "",
    more: str = "",
    annotations: str = "",
) -> str:
    """A PyTorchJob whose workers have these variables (a YAML flow map), limits and further lines."""
    pairs = [pair.split("=", 1) for pair in variables.split()]
    env = ", ".join(f"{{name: {name}, value: '{value}'}}" for name, value in pairs)
    metadata = f"metadata: {{annotations: {{{annotations}}}}}, " if annotations else ""
    container = (
        f"{{name: pytorch, image: registry.example/train:v1, command: [torchrun, --nproc_per_node=8, train.py], "
        f"env: [{env}], resources: {{limits: {{{limits}}}}}, {MEMORY}{more}}}"
    )
    volumes = "volumes: [{name: shm, emptyDir: {medium: Memory}}]"
    pod = f"{metadata}spec: {{nodeSelector: {{{selector}}}, {spec}containers: [{container}], {volumes}}}"
    return (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: pretrain}\n"
        f"spec: {{pytorchReplicaSpecs: {{Worker: {{replicas: {workers}, template: {{{pod}}}}}}}}}\n"
    )


def rules(text: str) -> list[str]:
    report = samples.report(text)
    assert report.failures == ()
    return sorted({finding.rule for finding in report.findings})


def fact(variables: str, name: str) -> object:
    found = reading.role(job(variables))
    return found.value(name)


# ---- names of variables


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_SOCKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOKET_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_NSOCKS_PER_THREAD", "NCCL_NSOCKS_PERTHREAD"),
        ("NCCL_IB_DISABEL", "NCCL_IB_DISABLE"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLNG", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("FI_EFA_USE_HUGEPAGE", "FI_EFA_USE_HUGE_PAGE"),
        ("GLOO_SOCKET_IFNAMES", "GLOO_SOCKET_IFNAME"),
    ],
)
def test_a_slip_of_the_fingers_is_named_with_what_is_meant(name: str, meant: str) -> None:
    """docs.nvidia.com, NCCL user guide, environment variables: the names on the right."""
    role = reading.role(job(f"{name}=1"))
    assert reading.values(role, "misspelt_variable", "meant_variable") == [name, meant]


@pytest.mark.parametrize(
    "name",
    [
        *("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_MAX_P2P_NCHANNELS", "NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_NRINGS"),
        *("NCCL_VERSION", "NCCL_HOME", "NCCL_TESTS_PATH", "NCCL_LIB_DIR", "NCCL_PROFILER_PLUGIN"),
        *("RCCL_MSCCL_ENABLE", "RCCL_MSCCLPP_ENABLE", "NCCL_FASTRAK_IFNAME", "NCCL_FASTRAK_CTRL_DEV"),
        *("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE", "FI_EFA_USE_HUGE_PAGE", "FI_PROVIDER"),
        *("NCCL_IB_GID_INDEX", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_SHARP_DISABLE"),
        *("MY_NCCL_DEBUG", "NCCL_GIN_TYPE", "NCCL_RAS_ENABLE", "NCCL_SYM_CTAS", "OFI_NCCL_PROTOCOL"),
    ],
)
def test_a_name_that_is_read_or_like_no_other_is_no_slip(name: str) -> None:
    assert fact(f"{name}=1", "misspelt_variable") is None


def test_a_variable_that_no_library_read_is_named_with_what_does_it() -> None:
    """NCCL has no timeout of its own; PyTorch's process group has one."""
    role = reading.role(job("NCCL_TIMEOUT=3600"))
    assert reading.values(role, "unread_variable", "unread_variable_instead") == [
        "NCCL_TIMEOUT",
        "the timeout of init_process_group",
    ]
    role = reading.role(job("RCCL_DEBUG=INFO"))
    assert reading.values(role, "unread_variable", "unread_variable_instead") == ["RCCL_DEBUG", "NCCL_DEBUG"]


def test_a_variable_that_the_file_itself_uses_is_its_own() -> None:
    own = "export NCCL_TIMEOUT=1800\n"
    assert "variable-never-read" in rules(BATCH.format(own))
    assert "variable-never-read" not in rules(BATCH.format(f"{own}echo $NCCL_TIMEOUT\n"))


def test_a_variable_of_a_script_counts_once_it_is_exported() -> None:
    assert "variable-renamed" in rules(BATCH.format("export NCCL_ASYNC_ERROR_HANDLING=1\n"))
    assert "variable-renamed" not in rules(BATCH.format("NCCL_ASYNC_ERROR_HANDLING=1\n"))


@pytest.mark.parametrize(
    ("name", "library"),
    [("NCCL_TREE_THRESHOLD", "NCCL"), ("NCCL_WORK_FIFO_DEPTH", "NCCL"), ("FI_EFA_SET_CUDA_SYNC_MEMOPS", "libfabric")],
)
def test_a_retired_variable_names_its_library(name: str, library: str) -> None:
    role = reading.role(job(f"{name}=0"))
    assert reading.values(role, "retired_variable", "retired_variable_library") == [name, library]


# ---- values


@pytest.mark.parametrize(
    "pair",
    [
        *("NCCL_IB_DISABLE=true", "NCCL_P2P_DISABLE=yes", "NCCL_NVLS_ENABLE=off", "NCCL_BUFFSIZE=8M"),
        *("NCCL_P2P_LEVEL=nvl", "NCCL_NET_GDR_LEVEL=on", "NCCL_PROTO=LL256", "NCCL_ALGO=Rings"),
        *("NCCL_IB_TIMEOUT=100", "NCCL_IB_RETRY_CNT=14", "NCCL_IB_TC=1024", "NCCL_SOCKET_FAMILY=IPv4"),
        *("TORCH_NCCL_ASYNC_ERROR_HANDLING=true", "TORCH_DISTRIBUTED_DEBUG=VERBOSE"),
    ],
)
def test_a_value_that_the_library_does_not_take_is_named(pair: str) -> None:
    """NVIDIA/nccl src/misc/param.cc reads numbers by strtoll; src/graph/paths.cc compares levels by strcmp."""
    assert fact(pair, "impossible_value") == pair


@pytest.mark.parametrize(
    "pair",
    [
        *("NCCL_IB_DISABLE=0", "NCCL_P2P_DISABLE=1", "NCCL_NVLS_ENABLE=2", "NCCL_BUFFSIZE=8388608"),
        "NCCL_NTHREADS=0x100",
        *("NCCL_P2P_LEVEL=NVL", "NCCL_P2P_LEVEL=5", "NCCL_NET_GDR_LEVEL=PHB", "NCCL_NET_GDR_LEVEL=2"),
        *("NCCL_PROTO=simple", "NCCL_PROTO=^LL128", "NCCL_PROTO=Simple,LL128", "NCCL_ALGO=Ring,Tree"),
        *("NCCL_ALGO=allreduce:tree,collnetdirect;broadcast:ring", "NCCL_ALGO=NVLSTree", "NCCL_ALGO=^NVLS"),
        *("NCCL_IB_TIMEOUT=22", "NCCL_IB_TIMEOUT=0", "NCCL_IB_RETRY_CNT=7", "NCCL_IB_TC=106", "NCCL_IB_SL=0"),
        *("NCCL_SOCKET_FAMILY=AF_INET", "TORCH_NCCL_ASYNC_ERROR_HANDLING=3", "TORCH_DISTRIBUTED_DEBUG=detail"),
        *("NCCL_IB_DISABLE=$(DISABLE)", "NCCL_IB_TIMEOUT=<timeout>", "NCCL_CROSS_NIC=2", "NCCL_IB_GID_INDEX=-1"),
    ],
)
def test_a_value_that_the_library_takes_or_that_somebody_fills_in_is_left_alone(pair: str) -> None:
    assert fact(pair, "impossible_value") is None


def test_a_level_of_messages_that_is_unknown_is_said_apart() -> None:
    role = reading.role(job("NCCL_DEBUG=ERROR"))
    assert reading.values(role, "silent_value", "impossible_value") == ["NCCL_DEBUG=ERROR", None]
    assert [fact(f"NCCL_DEBUG={level}", "silent_value") for level in ("INFO", "warn", "VERSION", "TRACE", "OFF")] == [
        None
    ] * 5


# ---- interfaces


@pytest.mark.parametrize("pair", ["NCCL_SOCKET_IFNAME=lo", "GLOO_SOCKET_IFNAME=docker0", "NCCL_SOCKET_IFNAME==lo"])
def test_ranks_on_several_nodes_cannot_meet_over_an_interface_of_one_host(pair: str) -> None:
    """NVIDIA/nccl issue 286: "lo is loopback so you won't be able to use it between two nodes"."""
    assert "interface-of-one-host" in rules(job(pair))


@pytest.mark.parametrize(
    ("pair", "workers"),
    [
        ("NCCL_SOCKET_IFNAME=lo", 1),
        ("NCCL_SOCKET_IFNAME=^lo,docker0", 4),
        ("NCCL_SOCKET_IFNAME=eth0,lo", 4),
        ("NCCL_SOCKET_IFNAME=bond0", 4),
        ("GLOO_SOCKET_IFNAME=ib0", 4),
    ],
)
def test_other_interfaces_and_single_nodes_are_fine(pair: str, workers: int) -> None:
    assert "interface-of-one-host" not in rules(job(pair, workers=workers))


@pytest.mark.parametrize("pair", ["NCCL_SOCKET_IFNAME=mlx5_0", "NCCL_IB_HCA=eth0", "NCCL_IB_HCA=bond0,bond1"])
def test_a_device_is_no_interface_and_an_interface_no_device(pair: str) -> None:
    assert fact(pair, "interface_mistaken") == pair


@pytest.mark.parametrize(
    "pair",
    [
        *("NCCL_SOCKET_IFNAME=ib0", "NCCL_SOCKET_IFNAME=net1", "NCCL_SOCKET_IFNAME=enp", "NCCL_SOCKET_IFNAME=^mlx5_0"),
        *("NCCL_IB_HCA=mlx5", "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "NCCL_IB_HCA=ibp", "NCCL_IB_HCA=^mlx5_2"),
        *("NCCL_IB_HCA=rocep12s0", "NCCL_IB_HCA=bnxt_re0", "NCCL_IB_HCA=mlx5_bond_0", "NCCL_IB_HCA=ib0"),
    ],
)
def test_names_that_may_be_right_are_not_mistaken(pair: str) -> None:
    assert fact(pair, "interface_mistaken") is None


# ---- what is switched off


def test_peer_copies_count_where_nvlink_joins_the_cards() -> None:
    assert "peer-copies-switched-off" in rules(job("NCCL_P2P_DISABLE=1"))
    assert "peer-copies-switched-off" in rules(job("NCCL_P2P_LEVEL=LOC"))
    pcie = job("NCCL_P2P_DISABLE=1", "nvidia.com/gpu: 4", 1, "node.kubernetes.io/instance-type: g6e.24xlarge")
    assert "peer-copies-switched-off" not in rules(pcie)
    assert "peer-copies-switched-off" not in rules(job("NCCL_P2P_DISABLE=1", "nvidia.com/gpu: 1", 1))
    assert "peer-copies-switched-off" not in rules(job("NCCL_P2P_DISABLE=0"))


def test_shared_memory_counts_where_the_cards_have_nothing_else() -> None:
    selector = "node.kubernetes.io/instance-type: g6e.24xlarge"
    assert "shared-memory-transport-off" in rules(job("NCCL_SHM_DISABLE=1", "nvidia.com/gpu: 4", 1, selector))
    assert "shared-memory-transport-off" in rules(job("NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1"))
    assert "shared-memory-transport-off" not in rules(job("NCCL_SHM_DISABLE=1"))


def test_a_variable_that_waits_for_every_call_is_a_left_over() -> None:
    assert fact("CUDA_LAUNCH_BLOCKING=1", "slowing_variable") == "CUDA_LAUNCH_BLOCKING=1"
    assert fact("NCCL_DEBUG=TRACE", "slowing_variable") == "NCCL_DEBUG=TRACE"


@pytest.mark.parametrize("pair", ["NCCL_DEBUG=INFO", "CUDA_LAUNCH_BLOCKING=0", "TORCH_DISTRIBUTED_DEBUG=INFO"])
def test_usual_messages_slow_nothing(pair: str) -> None:
    assert fact(pair, "slowing_variable") is None


def test_a_comment_that_gives_the_reason_silences_the_left_over() -> None:
    """BigScience, tr14: "do not remove or the training will hang … w/o this workaround"."""
    blocking = "{}export CUDA_LAUNCH_BLOCKING=1\n"
    assert "debug-variable-slows-run" not in rules(
        BATCH.format(blocking.format("# do not remove or the training will hang\n"))
    )
    assert "debug-variable-slows-run" in rules(BATCH.format(blocking.format("# debugging\n")))


# ---- the network that a pod asks for


def test_pods_on_machines_with_efa_that_ask_for_none_train_over_tcp() -> None:
    assert "rdma-missing" in rules(job(limits="nvidia.com/gpu: 8"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job(), id="asked for"),
        pytest.param(job(limits="nvidia.com/gpu: 8", workers=1), id="one node"),
        pytest.param(job(limits="nvidia.com/gpu: 8, rdma/ib: 1"), id="another resource"),
        pytest.param(job(limits="nvidia.com/gpu: 8, networking.gke.io.networks/rdma-0: 1"), id="Google's"),
        pytest.param(job(limits="nvidia.com/gpu: 8", spec="hostNetwork: true, "), id="the host's network"),
        pytest.param(job(limits="nvidia.com/gpu: 8", more=", securityContext: {privileged: true}"), id="privileged"),
        pytest.param(
            job(limits="nvidia.com/gpu: 8", annotations="k8s.v1.cni.cncf.io/networks: rdma"), id="a network of Multus"
        ),
        pytest.param(
            job(limits="nvidia.com/gpu: 8", annotations="networking.gke.io/interfaces: '[]'"), id="interfaces of GKE"
        ),
        pytest.param(
            job(limits="nvidia.com/gpu: 8", spec="resourceClaims: [{name: nics, resourceClaimTemplateName: rdma}], "),
            id="a claim",
        ),
        pytest.param(
            job(limits="nvidia.com/gpu: 4", selector="node.kubernetes.io/instance-type: g5.12xlarge"), id="no GPUDirect"
        ),
        pytest.param(
            job(limits="nvidia.com/gpu: 8", selector="cloud.google.com/gke-accelerator: nvidia-h100-80gb"),
            id="machine unknown",
        ),
    ],
)
def test_a_network_that_is_there_or_may_be_is_not_missing(text: str) -> None:
    assert "rdma-missing" not in rules(text)


def test_the_network_of_a_card_that_a_cloud_has_in_one_machine_is_known() -> None:
    """docs.cloud.google.com: H200 is a3-ultragpu-8g alone, with RoCE; H100 is several machines."""
    h200 = job(limits="nvidia.com/gpu: 8", selector="cloud.google.com/gke-accelerator: nvidia-h200-141gb")
    assert "rdma-missing" in rules(h200)
    assert "rdma-missing" not in rules(h200.replace("gpu: 8}", "gpu: 1}"))
    assert "rdma-missing" not in rules(h200.replace("cloud.google.com/gke-accelerator", "nvidia.com/gpu.product"))


def test_pods_that_may_share_a_node_need_no_network() -> None:
    one_each = job(limits="nvidia.com/gpu: 1", workers=8)
    assert "rdma-missing" not in rules(one_each)


def test_independent_replicas_need_no_network_between_them() -> None:
    arguments = "[--model=Qwen/Qwen2.5-72B-Instruct, --tensor-parallel-size=8, --max-model-len=8192]"
    limits = "resources: {limits: {nvidia.com/gpu: 8}}"
    container = f"{{name: s, image: 'vllm/vllm-openai:v0.11.0', args: {arguments}, {limits}, {MEMORY}}}"
    volumes = "volumes: [{name: shm, emptyDir: {medium: Memory}}]"
    pod = f"{{spec: {{nodeSelector: {{{MACHINE}}}, containers: [{container}], {volumes}}}}}"
    text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: chat}}\nspec: {{replicas: 4, template: {pod}}}\n"
    assert [rule for rule in rules(text) if "rdma" in rule or "network" in rule] == []


def test_efa_is_counted_against_the_machine() -> None:
    """docs.aws.amazon.com, EFA: p4d has 4 interfaces, p5 has 32."""
    assert "efa-fewer-than-machine-has" in rules(job(limits="nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4"))
    p4d = "node.kubernetes.io/instance-type: p4d.24xlarge"
    assert "efa-more-than-machine-has" in rules(job(limits=EFA, selector=p4d))
    right = job(limits="nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4", selector=p4d)
    assert not any("efa" in rule for rule in rules(right))
    half = job(limits="nvidia.com/gpu: 4, vpc.amazonaws.com/efa: 16")
    assert "efa-fewer-than-machine-has" not in rules(half)


def test_memory_is_locked_by_a_capability_or_a_privilege() -> None:
    limits, selector = "nvidia.com/gpu: 8, rdma/hca_shared: 1", "cloud.google.com/gke-accelerator: nvidia-h100-80gb"
    assert "locked-memory-denied" in rules(job(limits=limits, selector=selector))
    granted = ("{capabilities: {add: [IPC_LOCK]}}", "{capabilities: {add: [CAP_SYS_RESOURCE]}}", "{privileged: true}")
    for context in granted:
        text = job(limits=limits, selector=selector, more=f", securityContext: {context}")
        assert "locked-memory-denied" not in rules(text)
    assert "locked-memory-denied" not in rules(job())
    for cloud in ("rdma/ib", "t7d.com/rdma"):
        assert "locked-memory-denied" not in rules(job(limits=f"nvidia.com/gpu: 8, {cloud}: 1", selector=selector))


def test_pods_in_the_hosts_network_lose_the_names_of_the_cluster() -> None:
    assert "cluster-names-lost" in rules(job(limits="nvidia.com/gpu: 8", spec="hostNetwork: true, "))
    for policy in ("ClusterFirstWithHostNet", "None", "Default"):
        text = job(limits="nvidia.com/gpu: 8", spec=f"hostNetwork: true, dnsPolicy: {policy}, ")
        assert "cluster-names-lost" not in rules(text)
    one = job(limits="nvidia.com/gpu: 8", spec="hostNetwork: true, ", workers=1)
    assert "cluster-names-lost" not in rules(one)


def test_what_a_template_elsewhere_completes_is_not_judged() -> None:
    """kserve config/llmisvcconfig: the operator merges IPC_LOCK into the containers of an LLMInferenceService."""
    text = """
    apiVersion: serving.kserve.io/v1alpha1
    kind: LLMInferenceService
    metadata: {name: chat}
    spec:
      model: {uri: "hf://deepseek-ai/DeepSeek-R1-0528", name: deepseek}
      template:
        containers:
          - name: main
            resources: {limits: {nvidia.com/gpu: "8", rdma/roce_gdr: 1}}
    """
    found = [role for workload in reading.workloads(text) for role in workload.roles]
    assert found
    assert [role.value("unlocked_devices") for role in found] == [None] * len(found)


# ---- what says the opposite of something else


def test_what_is_tuned_and_switched_off_is_named_with_what_switches_it_off() -> None:
    role = reading.role(job("NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5"))
    assert reading.values(role, "idle_variable", "idle_because") == ["NCCL_IB_HCA=mlx5", "NCCL_IB_DISABLE=1"]
    role = reading.role(job("FI_PROVIDER=efa NCCL_NET=Socket"))
    assert reading.values(role, "idle_variable", "idle_because") == ["FI_PROVIDER=efa", "NCCL_NET=Socket"]


@pytest.mark.parametrize(
    "pairs",
    [
        "NCCL_IB_DISABLE=0 NCCL_IB_HCA=mlx5",
        "NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=eth0",
        "NCCL_IB_DISABLE=1 FI_PROVIDER=efa",
        "NCCL_IB_DISABLE=1 NCCL_IB_GID_INDEX=$(INDEX)",
        "FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1",
    ],
)
def test_variables_that_go_together_are_left_alone(pairs: str) -> None:
    assert fact(pairs, "idle_variable") is None


def test_variables_of_a_launcher_are_those_of_the_ranks_that_it_starts() -> None:
    """kubeflow/mpi-operator: the launcher's mpirun hands `-x` variables to the workers."""
    text = """
    apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    metadata: {name: pretrain}
    spec:
      mpiReplicaSpecs:
        Launcher:
          replicas: 1
          template:
            spec:
              containers:
                - name: launcher
                  image: registry.example/train:v1
                  command: [mpirun, -np, "16", -x, NCCL_TREE_THRESHOLD=0, python, train.py]
        Worker:
          replicas: 2
          template:
            spec:
              containers:
                - name: worker
                  image: registry.example/train:v1
                  resources: {limits: {nvidia.com/gpu: 8}}
    """
    found = [role.value("retired_variable") for workload in reading.workloads(text) for role in workload.roles]
    assert "NCCL_TREE_THRESHOLD" in found


def test_one_place_says_a_thing_once() -> None:
    twice = "export NCCL_TREE_THRESHOLD=0\nsrun python first_train.py\n"
    report = samples.report(BATCH.format(twice))
    assert [finding.rule for finding in report.findings].count("variable-retired") == 1


def test_gpus_whose_model_nobody_states_are_counted_in_words() -> None:
    script = "#!/bin/bash\nexport NCCL_P2P_DISABLE=1\nexport NCCL_SHM_DISABLE=1\ntorchrun --nproc_per_node=2 train.py\n"
    messages = [one.message for one in samples.report(script, path="train.sh").open]
    (message,) = [one for one in messages if "NCCL_SHM_DISABLE" in one]
    assert message.startswith("2 × GPU of unknown model have no direct path")
