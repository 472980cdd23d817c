"""Provisioned hardware: a change of node pools is seen, apart from workloads, and an unknown number is not zero."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import commits
import pytest
from gate_sides import RIGHT, deployment, put, run

import gpulint
from gpulint.report.formats import comparison as formats_comparison
from gpulint.report.formats import json as formats_json
from gpulint.report.formats import junit, markdown, text
from gpulint.report.formats.terminal_view import UNWRAPPED
from gpulint.report.model import Comparison

UNCHANGED = "no change in GPUs, cost or power"
H100 = "H100 SXM5 80GB"
GKE = """\
resource "google_container_node_pool" "h100" {{
  name = "h100"
  location = "us-central1-a"
  {count}
  node_config {{
    machine_type = "{machine}"
  }}
}}
"""


def gke(count: str, machine: str = "a3-highgpu-8g") -> str:
    return GKE.format(count=count, machine=machine)


Compared = Callable[[dict[str, str], dict[str, str]], Comparison]
Reported = Callable[[dict[str, str], dict[str, str]], gpulint.Report]


@pytest.fixture
def reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reported:
    """The report on a change from some files to others."""
    folder = commits.started(tmp_path / "repository")
    monkeypatch.chdir(folder)

    def report(before: dict[str, str], after: dict[str, str]) -> gpulint.Report:
        put(folder, before)
        base = commits.committed(folder)
        put(folder, after)
        commits.committed(folder)
        return gpulint.check(".", gpulint.Options(today="2026-11-22", base=base))

    return report


@pytest.fixture
def compared(reported: Reported) -> Compared:
    """What a change from some files to others makes of the repository."""

    def compare(before: dict[str, str], after: dict[str, str]) -> Comparison:
        found = reported(before, after).comparison
        assert found is not None
        return found

    return compare


def said(comparison: Comparison) -> str:
    """The part of the sentence on the GPUs of node pools."""
    sentence = formats_comparison.render_sentence(comparison)
    return re.split(r", [+-]|; the", sentence.partition("; node pools: ")[2])[0]


def test_terraform_that_changes_32_h100_to_128_is_a_change(compared: Compared) -> None:
    found = compared({"gke.tf": gke("node_count = 4")}, {"gke.tf": gke("node_count = 16")})
    assert formats_comparison.render_sentence(found).startswith(
        f"workloads: {UNCHANGED}; node pools: +96 GPUs ({H100}: 32 → 128), +$"
    )
    assert found.pool_total.gpus.amount == 96
    assert found.pool_total.power_w.amount == 67_200
    assert found.total.gpus.amount == 0


EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: ml, region: us-east-1}}
managedNodeGroups:
  - {{name: big, instanceType: p5.48xlarge, {size}}}
"""
KARPENTER = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: gpu}}
spec:
  limits: {{{limits}}}
  template:
    spec:
      requirements:
        - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}}
"""
SLURM = "NodeName=gpu[1-{last}] Gres=gpu:h100:8 State=UNKNOWN\nPartitionName=a Nodes=ALL\nPartitionName=b Nodes=ALL\n"
PARALLEL = """\
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: gpu
      ComputeResources:
        - {{Name: h100, InstanceType: p5.48xlarge, {size}}}
"""
BLUEPRINT = """\
blueprint_name: ml
vars: {{zone: us-central1-a, zones: [us-central1-a]}}
deployment_groups:
  - group: primary
    modules:
      - id: nodes
        source: community/modules/compute/schedmd-slurm-gcp-v6-nodeset
        settings: {{machine_type: a3-highgpu-8g, {size}}}
      - {{id: a, source: community/modules/compute/schedmd-slurm-gcp-v6-partition, use: [nodes], settings: {{partition_name: a}}}}
      - {{id: b, source: community/modules/compute/schedmd-slurm-gcp-v6-partition, use: [nodes], settings: {{partition_name: b}}}}
      - id: pool
        source: modules/compute/gke-node-pool
        settings: {{machine_type: a3-highgpu-8g, static_node_count: {pool}, zones: $(vars.zones)}}
"""
EKS = """\
resource "aws_eks_node_group" "gpu" {{
  node_group_name = "gpu"
  instance_types  = ["p5.48xlarge"]
  scaling_config {{
    desired_size = {desired}
    min_size     = {least}
    max_size     = {most}
  }}
}}
"""
EKS_MODULE = """\
module "eks" {{
  source = "terraform-aws-modules/eks/aws"
  eks_managed_node_groups = {{
    gpu = {{
      instance_types = ["p5.48xlarge"]
      {size}
    }}
  }}
}}
"""
GKE_MODULE = """\
module "gke" {{
  source = "terraform-google-modules/kubernetes-engine/google"
  zones  = ["us-central1-a", "us-central1-b"]
  node_pools = [{{
    name         = "gpu"
    machine_type = "a3-highgpu-8g"
    {size}
  }}]
}}
"""
AKS = """\
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {{
  name    = "gpu"
  vm_size = "Standard_ND96isr_H100_v5"
  {size}
}}
"""
OKE = """\
resource "oci_containerengine_node_pool" "gpu" {{
  name       = "gpu"
  node_shape = "BM.GPU.H100.8"
  node_config_details {{
    size = {size}
  }}
}}
"""
NEBIUS = """\
resource "nebius_mk8s_v1_node_group" "gpu" {{
  name = "gpu"
  {size}
  template = {{ resources = {{ platform = "gpu-h100-sxm", preset = "8gpu-128vcpu-1600gb" }} }}
}}
"""
MACHINE = """\
resource "aws_instance" "train" {{
  {many}
  instance_type = "p5.48xlarge"
}}
"""
GUEST = """\
resource "google_compute_instance" "t4" {{
  count        = {many}
  name         = "t4"
  machine_type = "n1-standard-8"
  guest_accelerator {{
    type  = "nvidia-tesla-t4"
    count = 2
  }}
}}
"""
LIMITS = """\
resource "google_container_cluster" "ml" {{
  cluster_autoscaling {{
    resource_limits {{
      resource_type = "cpu"
      maximum       = 1000
    }}
    resource_limits {{
      resource_type = "nvidia-l4"
      maximum       = {most}
    }}
  }}
}}
"""
DEFAULT_POOL = """\
resource "google_container_cluster" "ml" {{
  location                 = "us-central1"
  remove_default_node_pool = {removed}
  initial_node_count       = {count}
  node_config {{
    machine_type = "a3-highgpu-8g"
  }}
}}
"""
AZURE = """\
resource "azurerm_linux_virtual_machine" "train" {{
  for_each = toset([{names}])
  name     = each.key
  size     = "Standard_ND96isr_H100_v5"
}}
"""


@pytest.mark.parametrize(
    ("path", "before", "after", "sentence"),
    [
        ("a.tf", gke("node_count = 16"), gke("node_count = 4"), "-96 GPUs ({}: 128 → 32)"),
        ("a.tf", gke("initial_node_count = 4"), gke("initial_node_count = 16"), "+96 GPUs ({}: 32 → 128)"),
        (
            "a.tf",
            gke("autoscaling {\n min_node_count = 0\n max_node_count = 4\n}"),
            gke("autoscaling {\n min_node_count = 0\n max_node_count = 16\n}"),
            "+96 GPUs at most ({}: 0 to 32 → 0 to 128)",
        ),
        (
            "a.tf",
            gke('node_locations = ["us-central1-a", "us-central1-b"]\n node_count = 4'),
            gke('node_locations = ["us-central1-a", "us-central1-b"]\n node_count = 16'),
            "+192 GPUs ({}: 64 → 256)",
        ),
        (
            "a.tf",
            gke('node_locations = ["us-central1-a"]\n autoscaling {\n total_max_node_count = 4\n}'),
            gke(
                'node_locations = ["us-central1-a", "us-central1-b"]\n autoscaling {\n total_max_node_count = 4\n'
                " total_min_node_count = 4\n}"
            ),
            "+32 GPUs at the start ({}: 0 to 32 → 32)",
        ),
        ("a.tf", gke("count = 2\n node_count = 2"), gke("count = 8\n node_count = 2"), "+96 GPUs ({}: 32 → 128)"),
        (
            "a.yaml",
            EKSCTL.format(size="desiredCapacity: 4"),
            EKSCTL.format(size="desiredCapacity: 16"),
            "+96 GPUs ({}: 32 → 128)",
        ),
        (
            "a.yaml",
            EKSCTL.format(size="minSize: 0, maxSize: 4"),
            EKSCTL.format(size="minSize: 0, maxSize: 16"),
            "+96 GPUs at most ({}: 0 to 32 → 0 to 128)",
        ),
        (
            "a.yaml",
            KARPENTER.format(limits="nvidia.com/gpu: 32"),
            KARPENTER.format(limits="nvidia.com/gpu: 128"),
            "+96 GPUs at most ({}: 0 to 32 → 0 to 128)",
        ),
        ("slurm.conf", SLURM.format(last=4), SLURM.format(last=16), "+96 GPUs ({}: 32 → 128)"),
        (
            "a.yaml",
            PARALLEL.format(size="MinCount: 4, MaxCount: 4"),
            PARALLEL.format(size="MinCount: 4, MaxCount: 16"),
            "+96 GPUs at most ({}: 32 → 32 to 128)",
        ),
        (
            "a.yaml",
            PARALLEL.format(size="MaxCount: 10"),
            PARALLEL.format(size="MinCount: 2"),
            "+16 GPUs at the start ({}: 0 to 80 → 16 to 80)",
        ),
        (
            "a.yaml",
            BLUEPRINT.format(size="node_count_static: 4, node_count_dynamic_max: 0", pool=1),
            BLUEPRINT.format(size="node_count_static: 16, node_count_dynamic_max: 0", pool=1),
            "+96 GPUs ({}: 32 → 128)",
        ),
        (
            "a.yaml",
            BLUEPRINT.format(size="node_count_static: 4", pool=4),
            BLUEPRINT.format(size="node_count_static: 4", pool=16),
            "+96 GPUs ({}: 32 → 128)",
        ),
        (
            "a.tf",
            EKS.format(desired=2, least=0, most=4),
            EKS.format(desired=2, least=0, most=16),
            "+96 GPUs at most ({}: 0 to 32, 16 at the start → 0 to 128, 16 at the start)",
        ),
        (
            "a.tf",
            EKS.format(desired=4, least=0, most=16),
            EKS.format(desired=16, least=0, most=16),
            "+96 GPUs at the start ({}: 0 to 128, 32 at the start → 0 to 128)",
        ),
        (
            "a.tf",
            EKS_MODULE.format(size=""),
            EKS_MODULE.format(size="max_size = 16"),
            "+104 GPUs at most ({}: 8 to 24 → 8 to 128)",
        ),
        (
            "a.tf",
            GKE_MODULE.format(size="autoscaling = false\n node_count = 2"),
            GKE_MODULE.format(size="autoscaling = false\n node_count = 8"),
            "+96 GPUs ({}: 32 → 128)",
        ),
        (
            "a.tf",
            GKE_MODULE.format(size="max_count = 2"),
            GKE_MODULE.format(size="max_count = 8"),
            "+96 GPUs at most ({}: 16 to 32 → 16 to 128)",
        ),
        ("a.tf", AKS.format(size="node_count = 4"), AKS.format(size="node_count = 16"), "+96 GPUs ({}: 32 → 128)"),
        (
            "a.tf",
            AKS.format(size="min_count = 1\n max_count = 4"),
            AKS.format(size="min_count = 1\n max_count = 16"),
            "+96 GPUs at most ({}: 8 to 32 → 8 to 128)",
        ),
        ("a.tf", LIMITS.format(most=8), LIMITS.format(most=64), "+56 GPUs at most (L4 24GB: 0 to 8 → 0 to 64)"),
        (
            "a.tf",
            DEFAULT_POOL.format(removed="false", count=1),
            DEFAULT_POOL.format(removed="false", count=2),
            "+24 GPUs ({}: 24 → 48)",
        ),
        ("a.tf", OKE.format(size=4), OKE.format(size=16), "+96 GPUs ({}: 32 → 128)"),
        (
            "a.tf",
            NEBIUS.format(size="fixed_node_count = 4"),
            NEBIUS.format(size="autoscaling = { min_node_count = 4, max_node_count = 16 }"),
            "+96 GPUs at most ({}: 32 → 32 to 128)",
        ),
        ("a.tf", MACHINE.format(many="count = 4"), MACHINE.format(many="count = 16"), "+96 GPUs ({}: 32 → 128)"),
        ("a.tf", MACHINE.format(many=""), MACHINE.format(many="count = 2"), "+8 GPUs ({}: 8 → 16)"),
        ("a.tf", AZURE.format(names='"a"'), AZURE.format(names='"a", "b"'), "+8 GPUs ({}: 8 → 16)"),
    ],
)
def test_each_format_states_how_many_nodes_it_provides(
    compared: Compared, path: str, before: str, after: str, sentence: str
) -> None:
    assert said(compared({path: before}, {path: after})) == sentence.format(H100)


def test_attached_gpus_count_although_their_machine_has_no_price(compared: Compared) -> None:
    found = compared({"a.tf": GUEST.format(many=1)}, {"a.tf": GUEST.format(many=4)})
    assert formats_comparison.render_sentence(found) == (
        f"workloads: {UNCHANGED}; node pools: +6 GPUs (Tesla T4 16GB: 2 → 8), +0.42 kW of boards; "
        "the cost of 1 node pool is unknown"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"a.tf": gke("node_count = 4")}, {"a.tf": "# more\n" + gke("node_count = 4")}, id="a comment"),
        pytest.param({"a.tf": gke("node_count = 4")}, {"b/c.tf": gke("node_count = 4")}, id="another file"),
        pytest.param(
            {"a.tf": gke("node_count = 4", "e2-standard-8")},
            {"a.tf": gke("node_count = 16", "e2-standard-8")},
            id="CPU",
        ),
        pytest.param({}, {"a.tf": gke("node_count = 0")}, id="no nodes"),
        pytest.param(
            {"a.tf": DEFAULT_POOL.format(removed="true", count=1)},
            {"a.tf": DEFAULT_POOL.format(removed="true", count=2)},
            id="a default pool that is removed",
        ),
        pytest.param(
            {"a.tf": gke("node_count = 4")},
            {"a.tf": gke("node_count = var.n"), "b.tf": 'variable "n" {\n  default = 4\n}\n'},
            id="a variable of the same value",
        ),
        pytest.param(
            {"a.tf": gke("node_count = data.x.y.count")},
            {"a.tf": gke("node_count = data.x.y.count").replace('name = "h100"', 'name = "h100"\n  version = "1.33"')},
            id="another key of a pool whose number is unknown",
        ),
        pytest.param(
            {"a.tf": gke("node_count = var.n * 2"), "v.tf": 'variable "n" {}\nvariable "m" {\n  default = 1\n}\n'},
            {"a.tf": gke("node_count = var.n * 2"), "v.tf": 'variable "n" {}\nvariable "m" {\n  default = 2\n}\n'},
            id="a variable that an unknown number does not use",
        ),
        pytest.param(
            {"slurm.conf": SLURM.format(last=4)},
            {"slurm.conf": SLURM.format(last=4) + "PartitionName=c Nodes=gpu[1-2]\n"},
            id="a further partition of the same nodes",
        ),
        pytest.param(
            {"a.yaml": KARPENTER.format(limits="nvidia.com/gpu: 8, cpu: 8")},
            {"a.yaml": KARPENTER.format(limits="nvidia.com/gpu: 8, cpu: 80")},
            id="another limit",
        ),
        pytest.param({"a.yaml": RIGHT}, {"a.yaml": RIGHT, "notes.md": "node_count = 16"}, id="a file without pools"),
    ],
)
def test_what_leaves_the_nodes_alone_is_no_change(
    compared: Compared, before: dict[str, str], after: dict[str, str]
) -> None:
    found = compared(before, after)
    assert found.pools == ()
    assert formats_comparison.render_sentence(found) == UNCHANGED


CALL = 'module "gpu" {{\n  source = "../m"\n  n = {}\n}}\n'
VARIABLE = 'variable "n" {\n  default = 4\n}\n'


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        pytest.param(
            {"a.tf": gke("node_count = var.n"), "v.tf": VARIABLE},
            {"a.tf": gke("node_count = var.n"), "v.tf": VARIABLE.replace("4", "16")},
            "+96 GPUs ({}: 32 → 128)",
            id="a default",
        ),
        pytest.param(
            {"a.tf": gke("node_count = var.n"), "v.tf": VARIABLE},
            {"a.tf": gke("node_count = var.n"), "v.tf": VARIABLE, "terraform.tfvars": "n = 16\n"},
            "+96 GPUs ({}: 32 → 128)",
            id="a variable file",
        ),
        pytest.param(
            {"a.tf": gke("node_count = var.n"), "v.tf": VARIABLE, "prod.tfvars": "n = 8\n"},
            {"a.tf": gke("node_count = var.n"), "v.tf": VARIABLE, "prod.tfvars": "n = 16\n"},
            "the GPUs, cost and power of 1 node pool are unknown ({}: ?)",
            id="a variable file that is applied by name",
        ),
        pytest.param(
            {"a.tf": gke("node_count = var.n * 2"), "v.tf": VARIABLE},
            {"a.tf": gke("node_count = var.n * 2"), "v.tf": VARIABLE.replace("4", "16")},
            "the GPUs, cost and power of 1 node pool are unknown ({}: ?)",
            id="a variable of a computed number",
        ),
        pytest.param(
            {"a.tf": gke("node_count = 4")},
            {"a.tf": gke("node_count = var.n")},
            "the GPUs, cost and power of 1 node pool are unknown ({}: 32 → ?)",
            id="a variable without a value",
        ),
        pytest.param(
            {"a.tf": gke("node_count = 4")},
            {"a.tf": gke("for_each = var.zones\n  node_count = 4")},
            "the GPUs, cost and power of 1 node pool are unknown ({}: 32 → ?)",
            id="an unknown number of pools",
        ),
        pytest.param(
            {
                "m/a.tf": gke("node_count = var.n"),
                "m/v.tf": VARIABLE,
                "dev/a.tf": CALL.format(4),
                "prod/a.tf": CALL.format(4),
            },
            {
                "m/a.tf": gke("node_count = var.n"),
                "m/v.tf": VARIABLE,
                "dev/a.tf": CALL.format(4),
                "prod/a.tf": CALL.format(16),
            },
            "+96 GPUs ({}: 32 → 128)",
            id="one of two calls of a module",
        ),
    ],
)
def test_a_number_is_followed_to_where_it_is_decided_and_an_unknown_one_is_said_to_be_so(
    compared: Compared, before: dict[str, str], after: dict[str, str], sentence: str
) -> None:
    assert said(compared(before, after)) == sentence.format(H100)


def test_nodes_of_a_pool_without_a_zone_have_a_least_number(compared: Compared) -> None:
    without = gke("node_count = COUNT").replace('  location = "us-central1-a"\n', "")
    found = compared({"a.tf": without.replace("COUNT", "4")}, {"a.tf": without.replace("COUNT", "16")})
    assert said(found) == f"the GPUs, cost and power of 1 node pool are unknown ({H100}: at least 32 → at least 128)"


def test_another_accelerator_is_a_change_although_the_number_stays(compared: Compared) -> None:
    found = compared({"a.tf": gke("node_count = 1", "a2-highgpu-8g")}, {"a.tf": gke("node_count = 1")})
    assert said(found) == f"+0 GPUs (A100 SXM4 40GB: 8 → 0, {H100}: 0 → 8)"


def test_workloads_and_pools_are_never_added(compared: Compared) -> None:
    before = {"a.tf": gke("node_count = 4"), "chat.yaml": RIGHT}
    found = compared(before, {"a.tf": gke("node_count = 5"), "chat.yaml": deployment(replicas=2)})
    assert (found.total.gpus.amount, found.pool_total.gpus.amount) == (1, 8)
    assert formats_comparison.render_sentence(found).startswith("workloads: +1 GPU, +$")
    assert said(found) == f"+8 GPUs ({H100}: 32 → 40)"


def test_a_comment_on_pools_alone_is_not_quiet_and_names_each_pool(reported: Reported) -> None:
    report = reported({"gke.tf": gke("node_count = 4")}, {"gke.tf": gke("node_count = 16")})
    comment = markdown.render(report)
    assert "gpulint: quiet" not in comment
    assert "<summary>1 node pool changed</summary>" in comment
    assert f"| `h100` | `gke.tf` | {H100} | 32 → 128 |" in comment


def test_a_change_of_pools_concerns_gpus(reported: Reported) -> None:
    report = reported({"gke.tf": gke("node_count = 4")}, {"gke.tf": gke("node_count = 16")})
    assert report.comparison is not None
    assert "the change concerns node pools and no workload" in junit.render(report)
    printed = run("--base", report.comparison.base, ".").output
    assert "node pools: +96 GPUs" in printed
    assert "nothing here concerns GPUs" not in printed


def test_the_json_report_holds_both_sides_of_a_pool(reported: Reported) -> None:
    report = reported({"gke.tf": gke("node_count = 4")}, {"gke.tf": gke("node_count = 16")})
    (pool,) = json.loads(formats_json.render(report))["comparison"]["pools"]
    assert (pool["pool"], pool["path"], pool["before"]["accelerator"]) == ("h100", "gke.tf", H100)
    assert (pool["before"]["most"]["gpus"], pool["after"]["least"]["gpus"]) == (32, 128)


def test_the_text_report_has_a_line_for_each_pool(reported: Reported) -> None:
    before = {"a.tf": gke("node_count = 4"), "b.yaml": EKSCTL.format(size="minSize: 1, maxSize: 2")}
    after = {"a.tf": gke("node_count = 16"), "b.yaml": EKSCTL.format(size="minSize: 1, maxSize: 4")}
    report = reported(before, after)
    lines = text.render(report, UNWRAPPED).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("change from"))
    assert lines[start].endswith(
        f": workloads: {UNCHANGED}; node pools: +112 GPUs at most ({H100}: 40 to 48 → 136 to 160), "
        "+$855,531 a month, +78.4 kW of boards"
    )
    assert lines[start + 1 : start + 4] == [
        "  node pool  file    accelerator     GPUs               USD a month                           kW of boards",
        "  h100       a.tf    H100 SXM5 80GB  32 → 128           258,391 → 1,033,563                   22.4 → 89.6",
        "  big        b.yaml  H100 SXM5 80GB  8 to 16 → 8 to 32  40,179 to 80,358 → 40,179 to 160,717  5.6 to 11.2 → "
        "5.6 to 22.4",
    ]


def test_a_pool_of_a_file_that_can_no_longer_be_read_is_unknown_and_not_removed(compared: Compared) -> None:
    whole = EKSCTL.format(size="desiredCapacity: 4")
    found = compared({"a.yaml": whole}, {"a.yaml": whole.replace("managedNodeGroups:", "managedNodeGroups: [")})
    assert said(found).startswith("the GPUs, cost and power of 1 node pool are unknown")
    assert said(compared({"a.yaml": whole}, {"b.yaml": "a: 1\n"})) == f"-32 GPUs ({H100}: 32 → 0)"


GROUP = """\
resource "aws_autoscaling_group" "x" {
  min_size = 0
  max_size = 4
  desired_capacity = 2
  launch_template {
    id = aws_launch_template.x.id
  }
}
resource "aws_launch_template" "x" {
  instance_type = "p5.48xlarge"
}
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "max_size = 4",
            "max_size = 16",
            "+96 GPUs at most ({0}: 0 to 32, 16 at the start → 0 to 128, 16 at the start)",
        ),
        (
            "desired_capacity = 2",
            "desired_capacity = 3",
            "+8 GPUs at the start ({0}: 0 to 32, 16 at the start → 0 to 32, 24 at the start)",
        ),
        ("p5.48xlarge", "m7i.large", "-32 GPUs at most ({0}: 0 to 32, 16 at the start → 0)"),
        ("", "# a comment\n", ""),
    ],
)
def test_a_changed_autoscaling_group_is_a_change(compared: Compared, old: str, new: str, sentence: str) -> None:
    after = GROUP.replace(old, new) if old else new + GROUP
    assert said(compared({"a.tf": GROUP}, {"a.tf": after})) == sentence.format(H100)


def test_a_changed_launch_template_leaves_the_gpus_unknown(compared: Compared) -> None:
    group = EKS.format(desired=1, least=1, most=1).replace(
        'instance_types  = ["p5.48xlarge"]', "launch_template {\n    id = aws_launch_template.gpu.id\n  }"
    )
    template = 'resource "aws_launch_template" "gpu" {\n  image_id = "TYPE"\n}\n'
    found = compared(
        {"a.tf": group, "b.tf": template.replace("TYPE", "a")}, {"a.tf": group, "b.tf": template.replace("TYPE", "b")}
    )
    assert said(found) == "the GPUs, cost and power of 1 node pool are unknown"


def test_a_deployment_file_of_the_cluster_toolkit_decides_what_its_blueprint_leaves_open(compared: Compared) -> None:
    blueprint = BLUEPRINT.format(size="node_count_static: $(vars.many)", pool=1)
    deployment_file = "terraform_backend_defaults: {type: gcs}\nvars: {many: 4}\n"
    before = {"a.yaml": blueprint, "a-deployment.yaml": deployment_file}
    found = compared(before, {**before, "a-deployment.yaml": deployment_file.replace("4", "16")})
    assert said(found) == f"the GPUs, cost and power of 1 node pool are unknown ({H100}: ?)"


def test_only_the_pools_of_the_named_paths_count(reported: Reported, tmp_path: Path) -> None:
    report = reported({"infra/a.tf": gke("node_count = 4")}, {"infra/a.tf": gke("node_count = 16")})
    assert report.comparison is not None
    options = gpulint.Options(today="2026-11-22", base=report.comparison.base)
    (tmp_path / "repository" / "apps").mkdir()
    put(tmp_path / "repository", {"infra/a.tf": gke("node_count = 16"), "apps/chat.yaml": RIGHT})
    commits.committed(tmp_path / "repository")
    for path, number in (("apps", 0), ("infra", 1), ("infra/a.tf", 1)):
        found = gpulint.check(path, options).comparison
        assert found is not None
        assert len(found.pools) == number


def test_a_gate_over_changed_files_sees_pools_too(reported: Reported) -> None:
    report = reported({"a.tf": gke("node_count = 4")}, {"a.tf": gke("node_count = 16")})
    assert report.comparison is not None
    options = gpulint.Options(today="2026-11-22", base=report.comparison.base, changed=True)
    found = gpulint.check(".", options).comparison
    assert found is not None
    assert said(found) == f"+96 GPUs ({H100}: 32 → 128)"


def test_more_pools_than_are_listed_are_unknown(compared: Compared) -> None:
    pool = gke("for_each = {ITEMS}\n  node_count = 1")
    items = ", ".join(f"k{number} = {number}" for number in range(2_001))
    before = pool.replace("ITEMS", items)
    found = compared({"a.tf": before}, {"a.tf": before.replace("node_count = 1", "node_count = 2")})
    assert said(found) == "the GPUs, cost and power of 1 node pool are unknown"


def test_the_numbers_of_workloads_and_pools_take_prices_of_the_policy(compared: Compared) -> None:
    policy = "prices: [{usd-per-hour: 10, date: 2026-11-01, instance-type: a3-highgpu-8g}]\n"
    before, after = ({"a.tf": gke(f"node_count = {number}"), "gpulint.yaml": policy} for number in (1, 2))
    assert compared(before, after).pool_total.usd_per_month.amount == 7_300


def test_a_number_that_depends_on_more_values_than_are_followed_is_a_change(compared: Compared) -> None:
    names = ", ".join(f"local.v{at}" for at in range(600))
    values = "".join(f'  v{at} = "a"\n' for at in range(1, 600))

    def write(first: str) -> dict[str, str]:
        locals_ = f'locals {{\n  nodes = length(compact([{names}]))\n  v0 = "{first}"\n{values}}}\n'
        return {"main.tf": gke("node_count = local.nodes"), "locals.tf": locals_}

    assert compared(write(""), write("a")).pools
    assert not compared(write("a"), {**write("a"), "notes.md": "x"}).pools
