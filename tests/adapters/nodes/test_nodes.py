"""Pools: from a selector, queue or partition to the card of the nodes that it leads to, and never to a guess."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import samples

from gpulint import adapters
from gpulint.adapters.nodes import slurm_conf
from gpulint.pipeline import check, enrichment
from gpulint.policy.config import files, load
from gpulint.policy.config.files import DiskReader
from gpulint.policy.config.settings import NamedPool
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Report
from gpulint.source import documents, repository
from gpulint.workload import Role, Unknown

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: train, namespace: ml{labels}}}
spec:
  {placing}
  containers:
    - name: train
      image: registry.example.com/train:1
      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: training, region: us-east-1}
managedNodeGroups:
  - {name: cpu, instanceType: m7i.large, labels: {pool: cpu, team: nlp}}
  - {name: h100, instanceType: p5.48xlarge, labels: {pool: big, team: nlp}}
  - {name: l4, instanceTypes: [g6.12xlarge, g6.24xlarge], labels: {pool: small, team: nlp}}
  - {name: spot, instancesDistribution: {instanceTypes: [g5.xlarge, g6.xlarge]}, labels: {pool: spot}}
"""
MANY = "one of a10g, l4"


def role(files: Mapping[str, str], path: str) -> Role:
    """The one role of a file of a repository."""
    kept = {name: textwrap.dedent(text).encode() for name, text in files.items()}
    loaded = documents.load(path, kept[path])
    found = [one for document in loaded.documents for one in enrichment.read(document, samples.ExampleRepository(kept))]
    (workload,) = found
    (read,) = workload.roles
    return read


def pod(placing: str = "", gpus: int = 1, labels: str = "") -> str:
    return POD.format(placing=placing, gpus=gpus, labels=f", labels: {labels}" if labels else "")


def card(of: Role) -> object:
    """The card of a role; the reason, after a question mark, where it is unknown."""
    value = of.value("accelerator")
    return f"? {value.reason}" if isinstance(value, Unknown) else value


def led(placing: str, pools: str = EKSCTL, path: str = "cluster.yaml", labels: str = "") -> Role:
    return role({path: pools, "pod.yaml": pod(placing, labels=labels)}, "pod.yaml")


# ---- selectors


@pytest.mark.parametrize(
    ("placing", "expected"),
    [
        pytest.param("nodeSelector: {pool: big}", "h100-sxm-80gb", id="a label of one's own"),
        pytest.param("nodeSelector: {eks.amazonaws.com/nodegroup: l4}", "l4", id="a label that the cloud sets"),
        pytest.param("nodeSelector: {alpha.eksctl.io/nodegroup-name: l4}", "l4", id="a label that eksctl sets"),
        pytest.param("nodeSelector: {pool: big, kubernetes.io/arch: amd64}", "h100-sxm-80gb", id="beside a mute label"),
        pytest.param(
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: pool, operator: In, values: [big]}]}]}}}",
            "h100-sxm-80gb",
            id="an affinity",
        ),
        pytest.param(
            "nodeSelector: {team: nlp}",
            "? the matching pools have different accelerators: h100-sxm-80gb, l4",
            id="pools with different cards",
        ),
        pytest.param("nodeSelector: {pool: spot}", f"? pool spot: {MANY}", id="a pool of several cards"),
        pytest.param(
            "nodeSelector: {pool: cpu}", "? the accelerator depends on the nodes labelled pool cpu", id="no card"
        ),
        pytest.param(
            "nodeSelector: {pool: big, rack: a}",
            "? the accelerator depends on the nodes labelled pool big",
            id="a label more",
        ),
        pytest.param(
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: pool, operator: In, values: [big, elsewhere]}]}]}}}",
            "? the accelerator depends on the nodes labelled pool big or elsewhere",
            id="a pool that nothing defines is an alternative",
        ),
    ],
)
def test_a_selector_leads_to_the_card_of_the_pools_that_carry_its_labels(placing: str, expected: object) -> None:
    assert card(led(placing)) == expected


def test_a_pod_without_a_selector_is_led_nowhere() -> None:
    assert "node_pool" not in led("").fields


def test_a_product_label_counts_before_any_pool() -> None:
    assert card(led("nodeSelector: {pool: big, nvidia.com/gpu.product: NVIDIA-L4}")) == "l4"


def test_what_a_pool_tells_stands_in_both_files_and_is_said_to_be_assumed() -> None:
    of = led("nodeSelector: {pool: big}")
    told = of.fields["accelerator"]
    assert [origin.document.path for origin in told.origins] == ["pod.yaml", "cluster.yaml"]
    assert [origin.location().line for origin in told.origins] == [5, 6]
    assert told.assumption == "h100-sxm-80gb, the accelerator of pool h100 (cluster.yaml)"
    assert [of.value(name) for name in ("instance_type", "pool_gpus", "node_pool")] == ["p5.48xlarge", 8, "h100"]


def test_a_pool_of_several_machine_types_has_neither_type_nor_count_unless_alike() -> None:
    of = led("nodeSelector: {pool: small}")
    assert [of.value(name) for name in ("instance_type", "pool_gpus")] == [None, 4]


def test_the_pools_of_the_nearest_cluster_are_those_that_are_meant() -> None:
    files = {
        "a/cluster.yaml": EKSCTL,
        "b/cluster.yaml": EKSCTL.replace("p5.48xlarge", "p4d.24xlarge"),
        "a/k8s/pod.yaml": pod("nodeSelector: {pool: big}"),
        "b/k8s/pod.yaml": pod("nodeSelector: {pool: big}"),
        "pod.yaml": pod("nodeSelector: {pool: big}"),
        "c/pod.yaml": pod("nodeSelector: {pool: small}"),
        "a/k8s/other.yaml": pod("nodeSelector: {pool: elsewhere}"),
    }
    assert [card(role(files, path)) for path in files if path.endswith("pod.yaml")] == [
        "h100-sxm-80gb",
        "a100-sxm4-40gb",
        "? the matching pools have different accelerators: a100-sxm4-40gb, h100-sxm-80gb",
        "l4",
    ]


def test_a_pool_of_another_cluster_is_not_meant_where_a_nearer_one_has_no_such_label() -> None:
    files = {
        "a/cluster.yaml": EKSCTL.replace("pool: big", "pool: large"),
        "b/cluster.yaml": EKSCTL,
        "a/pod.yaml": pod("nodeSelector: {pool: big}"),
    }
    assert card(role(files, "a/pod.yaml")) == "? the accelerator depends on the nodes labelled pool big"


# ---- taints and names


TAINTED = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: training, region: us-east-1}}
managedNodeGroups:
  - {{name: gpu, instanceType: p5.48xlarge, labels: {{pool: gpu}}, taints: [{taint}]}}
"""


@pytest.mark.parametrize(
    ("taint", "tolerations", "kept_off"),
    [
        ("{key: team, value: nlp, effect: NoSchedule}", "[]", "team=nlp:NoSchedule"),
        ("{key: team, value: nlp, effect: NoSchedule}", "[{key: team, value: cv}]", "team=nlp:NoSchedule"),
        ("{key: team, value: nlp, effect: NoSchedule}", "[{key: team, value: nlp}]", None),
        ("{key: team, value: nlp, effect: NoSchedule}", "[{key: team, operator: Exists}]", None),
        ("{key: team, value: nlp, effect: NoSchedule}", "[{operator: Exists}]", None),
        (
            "{key: team, value: nlp, effect: NoSchedule}",
            "[{key: team, operator: Exists, effect: NoExecute}]",
            "team=nlp:NoSchedule",
        ),
        ("{key: team, value: nlp, effect: PreferNoSchedule}", "[]", None),
        ("{key: nvidia.com/gpu, value: present, effect: NoSchedule}", "[]", None),
        ("{key: team, effect: NoExecute}", "[]", "team:NoExecute"),
    ],
)
def test_a_taint_keeps_a_pod_off_that_does_not_tolerate_it(taint: str, tolerations: str, kept_off: str | None) -> None:
    placing = f"nodeSelector: {{pool: gpu}}\n  tolerations: {tolerations}"
    assert led(placing, TAINTED.format(taint=taint)).value("pool_taint") == kept_off


@pytest.mark.parametrize(
    ("label", "unmatched"),
    [
        pytest.param("eks.amazonaws.com/nodegroup: h10", "h10", id="a name that no pool has"),
        pytest.param("eks.amazonaws.com/nodegroup: h100", None, id="a name that a pool has"),
        pytest.param("eks.amazonaws.com/nodegroup: '${GROUP}'", None, id="a name that is filled in"),
        pytest.param("cloud.google.com/gke-nodepool: h10", None, id="a pool of another cloud"),
        pytest.param("pool: h10", None, id="a label that names no pool"),
    ],
)
def test_a_selector_that_names_a_pool_which_is_not_there(label: str, unmatched: str | None) -> None:
    assert led(f"nodeSelector: {{{label}}}").value("unmatched_pool") == unmatched


def test_pools_of_several_clusters_do_not_tell_that_one_is_not_there() -> None:
    files = {
        "a/cluster.yaml": EKSCTL,
        "b/cluster.yaml": EKSCTL,
        "c/pod.yaml": pod("nodeSelector: {eks.amazonaws.com/nodegroup: elsewhere}"),
        "a/pod.yaml": pod("nodeSelector: {eks.amazonaws.com/nodegroup: elsewhere}"),
    }
    found = [role(files, path).value("unmatched_pool") for path in ("c/pod.yaml", "a/pod.yaml")]
    assert found == [None, "elsewhere"]


# ---- objects


def karpenter(requirements: str, more: str = "") -> str:
    return f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: gpu}}
spec:
  template:
    metadata: {{labels: {{pool: gpu}}}}
    spec:
      requirements: [{requirements}]
  {more}
"""


def wants(key: str, *values: str) -> str:
    return f"{{key: {key}, operator: In, values: [{', '.join(values)}]}}"


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        (wants("karpenter.k8s.aws/instance-family", "g6"), "l4"),
        (wants("karpenter.k8s.aws/instance-family", "g5", "g6"), f"? pool gpu: {MANY}"),
        (wants("node.kubernetes.io/instance-type", "p5.48xlarge", "p5.4xlarge"), "h100-sxm-80gb"),
        (wants("karpenter.k8s.aws/instance-gpu-name", "l40s"), "l40s"),
        (
            wants("karpenter.k8s.aws/instance-category", "g"),
            "? pool gpu: its requirements name no machine type, family or GPU",
        ),
        (
            wants("karpenter.k8s.aws/instance-family", "g99"),
            "? pool gpu: the catalog does not list all machines of g99",
        ),
        (wants("karpenter.k8s.aws/instance-family", "m7i"), "? the accelerator depends on the nodes labelled pool gpu"),
    ],
)
def test_a_pool_of_karpenter_has_the_card_of_all_machines_that_meet_its_requirements(
    requirements: str, expected: object
) -> None:
    assert card(led("nodeSelector: {pool: gpu}", karpenter(requirements))) == expected


def test_a_compute_class_has_the_card_that_all_its_priorities_have() -> None:
    text = """\
    apiVersion: cloud.google.com/v1
    kind: ComputeClass
    metadata: {name: gpus}
    spec:
      priorities:
        - {gpu: {type: nvidia-l4, count: 2}}
        - {machineType: g2-standard-24, spot: true}
    """
    of = led("nodeSelector: {cloud.google.com/compute-class: gpus}", textwrap.dedent(text))
    assert (card(of), of.value("pool_gpus")) == ("l4", 2)


BLUEPRINT = """\
blueprint_name: training
vars: {machine: a3-megagpu-8g, name: h100}
deployment_groups:
  - group: primary
    modules:
      - id: pool
        source: modules/compute/gke-node-pool
        settings: {name: $(vars.name), machine_type: $(vars.machine)}
      - id: nodes
        source: community/modules/compute/schedmd-slurm-gcp-v6-nodeset
        settings: {machine_type: a2-ultragpu-4g}
      - id: partition
        source: community/modules/compute/schedmd-slurm-gcp-v6-partition
        use: [nodes]
        settings: {partition_name: a100}
"""
JOB = """\
#!/bin/bash
#SBATCH --partition={partition}
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
{more}
srun python train.py
"""


def job(partition: str, pools: str, path: str, more: str = "") -> Role:
    return role({path: pools, "job.sbatch": JOB.format(partition=partition, more=more)}, "job.sbatch")


def test_a_blueprint_makes_pools_and_partitions() -> None:
    assert card(led("nodeSelector: {cloud.google.com/gke-nodepool: h100}", BLUEPRINT)) == "h100-sxm-80gb"
    of = job("a100", BLUEPRINT, "blueprint.yaml")
    assert (card(of), of.value("instance_type"), of.value("pool_gpus")) == ("a100-sxm4-80gb", "a2-ultragpu-4g", 4)


def test_a_pool_of_a_blueprint_is_called_after_its_machine_and_module_where_nothing_names_it() -> None:
    """cluster-toolkit, modules/compute/gke-node-pool/main.tf: machine type, a dash, the id without other characters."""
    unnamed = BLUEPRINT.replace("name: $(vars.name), ", "").replace("id: pool", "id: a3_mega-pool")
    assert (
        card(led("nodeSelector: {cloud.google.com/gke-nodepool: a3-megagpu-8g-a3mega-pool}", unnamed))
        == "h100-sxm-80gb"
    )


CONF = """\
ClusterName=training  # one line, several values
NodeName=gpu[01-04] CPUs=64 Gres=gpu:h100:8 \\
  Feature=h100,nvlink
NodeName=old[1-2] Gres=gpu:t4:4,craynetwork:4 Feature=t4
NodeName=cpu1 CPUs=64
PartitionName=DEFAULT MaxTime=1-0
PartitionName=h100 Nodes=gpu[01-02]
PartitionName=mixed Nodes=gpu[03-04],old1
PartitionName=every Nodes=ALL
PartitionName=cpu Nodes=cpu1
PartitionName=part Nodes=gpu01,elsewhere
NodeName=DEFAULT Gres=gpu:a100-80g:8
NodeName=new[1-4] Feature=new
PartitionName=new Nodes=new[1-2]
"""


@pytest.mark.parametrize(
    ("partition", "more", "expected"),
    [
        ("h100", "", "h100-sxm-80gb"),
        ("mixed", "", "? the matching pools have different accelerators: h100-sxm-80gb, t4"),
        ("mixed", "#SBATCH --constraint=nvlink", "h100-sxm-80gb"),
        ("every", "", "? the matching pools have different accelerators: a100-sxm4-80gb, h100-sxm-80gb, t4"),
        ("part", "", "? pool part: not all of its nodes are defined in the file"),
        ("new", "", "a100-sxm4-80gb"),
        ("h100,elsewhere", "", "? the accelerator depends on the cluster: partition h100,elsewhere does not name it"),
        ("cpu", "", "? the accelerator depends on the cluster: partition cpu does not name it"),
        ("elsewhere", "", "? the accelerator depends on the cluster: partition elsewhere does not name it"),
    ],
)
def test_a_partition_leads_to_the_cards_of_its_nodes(partition: str, more: str, expected: object) -> None:
    assert card(job(partition, CONF, "etc/slurm.conf", more)) == expected


def test_a_queue_of_parallel_cluster_is_a_partition() -> None:
    text = """\
    Region: us-east-1
    Scheduling:
      Scheduler: slurm
      SlurmQueues:
        - Name: gpu
          ComputeResources:
            - Name: p5
              InstanceType: p5.48xlarge
              Efa: {Enabled: true}
        - Name: mixed
          ComputeResources:
            - {Name: a, Instances: [{InstanceType: g5.xlarge}, {InstanceType: g5.2xlarge}]}
            - {Name: b, InstanceType: g6.xlarge}
    """
    read = [job(name, textwrap.dedent(text), "cluster.yaml") for name in ("gpu", "mixed")]
    assert [card(of) for of in read] == ["h100-sxm-80gb", "? the matching pools have different accelerators: a10g, l4"]
    assert [of.value("pool_gpus") for of in read] == [8, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu[01-03,7],login", {"gpu01", "gpu02", "gpu03", "gpu7", "login"}),
        ("n[9-11]-ib", {"n9-ib", "n10-ib", "n11-ib"}),
        ("a", {"a"}),
        ("a[1-99999999]", None),
    ],
)
def test_a_host_list_is_written_out(text: str, expected: set[str] | None) -> None:
    assert slurm_conf.hosts(text) == expected


def test_the_settings_of_slurm_are_known_as_such() -> None:
    (document,) = documents.load("etc/slurm.conf", CONF.encode()).documents
    adapter = adapters.find_adapter(document)
    assert adapter is not None
    assert adapters.kind(adapter, document) == "slurm.conf"


# ---- Kueue


def queue(quota: str = "nominalQuota: 8", cohort: str = "", labels: str = "{pool: big}") -> str:
    return f"""\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {{name: big}}
spec: {{nodeLabels: {labels}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: all}}
spec:
  {cohort}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{{name: big, resources: [{{name: nvidia.com/gpu, {quota}}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: research, namespace: ml}}
spec: {{clusterQueue: all}}
"""


QUEUED = "{kueue.x-k8s.io/queue-name: research}"


def queued(text: str, **further: str) -> Role:
    return role({"queues.yaml": text, "pod.yaml": pod(labels=QUEUED), **further}, "pod.yaml")


def test_a_queue_leads_to_the_card_that_its_flavour_selects() -> None:
    assert card(queued(queue(labels="{cloud.google.com/gke-accelerator: nvidia-l4}"))) == "l4"


def test_a_queue_leads_to_the_card_of_the_pool_that_its_flavour_selects() -> None:
    assert card(queued(queue(), **{"cluster.yaml": EKSCTL})) == "h100-sxm-80gb"


def test_a_queue_whose_flavour_selects_nothing_that_is_known_leaves_the_card_open() -> None:
    assert card(queued(queue())) == "? the accelerator depends on the queue research"


@pytest.mark.parametrize(
    ("quota", "cohort", "most"),
    [
        ("nominalQuota: 8", "", 8),
        ('nominalQuota: "8"', "", 8),
        ("nominalQuota: 8, borrowingLimit: 4", "cohort: all", 12),
        ("nominalQuota: 8, borrowingLimit: 4", "", 8),
        ("nominalQuota: 8", "cohort: all", None),
        ("nominalQuota: 8", "cohortName: all", None),
        ("nominalQuota: ${GPUS}", "", None),
    ],
)
def test_the_quota_of_a_queue_is_what_it_may_ever_admit(quota: str, cohort: str, most: int | None) -> None:
    quota = quota.replace("${GPUS}", "'${GPUS}'")
    assert queued(queue(quota, cohort)).value("queue_gpus") == most


# ---- gpulint.yaml


OWN = NamedPool("lab", labels={"pool": "lab"}, accelerator="l40s", gpus=4)


def checked(files: Mapping[str, str], path: str, **given: Any) -> Report:
    kept = {name: text.encode() for name, text in files.items()}
    rules = load_shipped()
    source = repository.Source(path, kept[path])
    return check.check_files(
        [source], samples.ExampleRepository(kept), ResolvedPolicy(tuple(rules.values()), tuple(rules), **given)
    )


@pytest.mark.parametrize(
    ("named", "path", "text"),
    [
        (OWN, "pod.yaml", pod("nodeSelector: {pool: lab, disk: ssd}")),
        (NamedPool("lab", partition="lab", accelerator="l40s"), "job.sbatch", JOB.format(partition="lab", more="")),
        (NamedPool("lab", queue="research", instance_type="g6e.12xlarge"), "pod.yaml", pod(labels=QUEUED)),
    ],
    ids=["labels", "partition", "queue"],
)
def test_a_pool_that_gpulint_yaml_names_gives_the_card(named: NamedPool, path: str, text: str) -> None:
    report = checked({path: text}, path, pools=(named,))
    (workload,) = report.workloads
    assert "L40S" in str(workload.roles[0])
    assert report.failures == ()


def test_a_pool_of_the_repository_counts_before_one_that_gpulint_yaml_names() -> None:
    other = NamedPool("big", labels={"pool": "big"}, accelerator="l40s")
    files = {"cluster.yaml": EKSCTL, "pod.yaml": pod("nodeSelector: {pool: big}")}
    (workload,) = checked(files, "pod.yaml", pools=(other,)).workloads
    assert "H100" in str(workload.roles[0])


def test_gpulint_yaml_states_pools_and_says_what_is_wrong_with_one(tmp_path: Path) -> None:
    file = tmp_path / "gpulint.yaml"
    file.write_text("pools:\n  - {name: lab, partition: gpu, instance-type: g6e.12xlarge, gpus: 4}\n")
    (found,) = load.find_nearest(DiskReader(tmp_path)).pools
    assert found == NamedPool("lab", partition="gpu", instance_type="g6e.12xlarge", gpus=4, labels={})
    file.write_text("pools:\n  - {name: lab, partitions: gpu}\n")
    with pytest.raises(files.SettingsError, match=r"gpulint.yaml:2:17: unknown key partitions; did you mean partition"):
        load.find_nearest(DiskReader(tmp_path))


# ---- what is wrong with nodes: the silent half


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(
            "main.tf",
            'resource "google_container_node_pool" "a" {\n  node_config {\n    machine_type = var.type\n'
            '    guest_accelerator {\n      type = "nvidia-l4"\n      count = 2\n    }\n  }\n}\n',
            id="a machine type that nothing states",
        ),
        pytest.param(
            "main.tf",
            'resource "google_container_node_pool" "a" {\n  node_config {\n    machine_type = "e2-medium"\n'
            '    guest_accelerator {\n      type = "nvidia-l4"\n      count = 0\n    }\n  }\n}\n',
            id="no card is attached",
        ),
        pytest.param(
            "main.tf",
            'resource "google_compute_instance" "a" {\n  machine_type = "g2-standard-8"\n'
            '  guest_accelerator {\n    type = "nvidia-l4-vws"\n    count = 1\n  }\n}\n',
            id="a virtual workstation",
        ),
        pytest.param(
            "main.tf",
            'resource "google_container_node_pool" "a" {\n  node_config {\n    machine_type = "a4-highgpu-8g"\n'
            '    guest_accelerator {\n      type = "nvidia-b200"\n      count = 8\n      gpu_partition_size = "7g.180gb"\n'
            "    }\n  }\n}\n",
            id="a card of which the catalog has no whole table",
        ),
        pytest.param(
            "main.tf",
            'resource "aws_eks_node_group" "a" {\n  instance_types = ["m7i.large"]\n'
            '  ami_type = "AL2023_x86_64_STANDARD" # no gpu\n}\n',
            id="a group without GPUs",
        ),
        pytest.param(
            "main.tf",
            'resource "aws_eks_node_group" "a" {\n  instance_types = ["g5.xlarge"]\n  ami_type = "CUSTOM" # gpu\n}\n',
            id="an image of one's own",
        ),
        pytest.param(
            "mig.yaml",
            "version: v1\nmig-configs:\n  all-1g.35gb:\n    - {devices: all, mig-enabled: true, mig-devices: {1g.35gb: 7}}\n",
            id="a layout of a card that the catalog lacks",
        ),
        pytest.param(
            "pool.yaml",
            karpenter(wants("karpenter.k8s.aws/instance-family", "g99"), "limits: {nvidia.com/gpu: 8}"),
            id="a family that the catalog lacks",
        ),
        pytest.param(
            "pool.yaml",
            karpenter(wants("karpenter.k8s.aws/instance-family", "m7i"), "limits: {cpu: 8} # no gpu"),
            id="a pool that is not meant for GPUs",
        ),
    ],
)
def test_nothing_is_said_of_nodes_that_may_be_right(path: str, text: str) -> None:
    report = checked({path: text}, path)
    assert report.failures == ()
    assert [finding.message for finding in report.findings if finding.family == "nodes"] == []
