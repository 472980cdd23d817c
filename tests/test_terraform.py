"""Terraform: what a value is in the end, and the pools of nodes that the files make."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest

from gpulint.adapters.nodes import Pool, machine_types
from gpulint.adapters.nodes.terraform import pools
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.workload import Unknown

GKE = """
resource "google_container_node_pool" "gpu" {{
  name = "gpu"
  node_config {{
    machine_type = {machine}
    {more}
  }}
}}
"""


def read(files: Mapping[str, str]) -> tuple[Document, ...]:
    return tuple(
        document
        for path, text in files.items()
        for document in documents.load(path, textwrap.dedent(text).encode()).documents
    )


def made(files: Mapping[str, str]) -> list[Pool]:
    return list(pools.pools(read(files)))


def resolved(files: Mapping[str, str]) -> object:
    """What `value` of main.tf is in the end; the reason where it is unknown."""
    found = read(files)
    main = next(one for one in found if one.path == "main.tf")
    field = Modules(found).field(Spot(main, ("locals", 0, "value")))
    return field.value.reason if field and isinstance(field.value, Unknown) else field and field.value


def shown(pool: Pool) -> tuple[object, object]:
    """The card and the count of a pool; the reason, after a question mark, where the card is unknown."""
    card = pool.accelerator.value
    known = f"? {card.reason}" if isinstance(card, Unknown) else card
    return known, pool.gpus.value if pool.gpus else None


# ---- values


def value(expression: str) -> str:
    return f"locals {{\n  value = {expression}\n}}\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"main.tf": value('"a"')}, "a", id="a literal"),
        pytest.param(
            {"main.tf": value("var.x"), "variables.tf": 'variable "x" { default = "a" }'}, "a", id="a default"
        ),
        pytest.param({"main.tf": value("var.x") + 'variable "x" {}'}, "var.x has no default", id="no default"),
        pytest.param({"main.tf": value("var.x")}, "var.x is not declared", id="no variable"),
        pytest.param(
            {"main.tf": value("var.x") + 'variable "x" { default = "a" }', "terraform.tfvars": 'x = "b"'},
            "b",
            id="terraform.tfvars counts before the default",
        ),
        pytest.param(
            {
                "main.tf": value("var.x") + 'variable "x" {}',
                "terraform.tfvars": 'x = "b"',
                "z.auto.tfvars": 'x = "c"',
            },
            "c",
            id="the last of the files that are read by themselves counts",
        ),
        pytest.param(
            {"main.tf": value("var.x") + 'variable "x" { default = "a" }', "large.tfvars": 'x = "b"'},
            "var.x is set to different values",
            id="a file that somebody may name says otherwise",
        ),
        pytest.param(
            {"main.tf": value("var.x") + 'variable "x" { default = "a" }', "same.tfvars": 'x = "a"'},
            "a",
            id="a file that somebody may name says the same",
        ),
        pytest.param({"main.tf": value("local.y") + 'locals { y = "a" }'}, "a", id="a local"),
        pytest.param(
            {"main.tf": value('"${var.x}-${local.n}"') + 'variable "x" { default = "a" }\nlocals { n = 2 }'},
            "a-2",
            id="a text with references",
        ),
        pytest.param(
            {"main.tf": value("var.x.gpu.type") + 'variable "x" { default = { gpu = { type = "a" } } }'},
            "a",
            id="an attribute of a map",
        ),
        pytest.param(
            {"main.tf": value('var.x["gpu"][1]') + 'variable "x" { default = { gpu = ["a", "b"] } }'},
            "b",
            id="an index",
        ),
        pytest.param({"main.tf": value('try(var.x.type, "b")') + 'variable "x" { default = {} }'}, "b", id="try, else"),
        pytest.param(
            {"main.tf": value('lookup(var.x, "type", "b")') + 'variable "x" { default = { type = "a" } }'},
            "a",
            id="lookup",
        ),
        pytest.param({"main.tf": value('var.on ? "a" : "b"') + 'variable "on" { default = true }'}, "a", id="a flag"),
        pytest.param(
            {
                "main.tf": value('!var.on ? "a" : var.x')
                + 'variable "on" { default = true }\nvariable "x" { default = "b" }'
            },
            "b",
            id="a flag that is negated",
        ),
        pytest.param(
            {"main.tf": value('var.on == "" ? "a" : "b"') + 'variable "on" { default = "x" }'}, "b", id="a comparison"
        ),
        pytest.param(
            {"main.tf": value('var.n > 1 ? "a" : "b"') + 'variable "n" { default = 2 }'},
            "var.n > 1 is computed",
            id="an order is not evaluated",
        ),
        pytest.param(
            {"main.tf": value('var.on ? "a" : "b"') + 'variable "on" {}'}, "var.on has no default", id="an unknown flag"
        ),
        pytest.param({"main.tf": value("local.value")}, "its references do not resolve", id="a circle"),
        pytest.param({"main.tf": value("aws_instance.a.type")}, "aws_instance.a.type is computed", id="a resource"),
    ],
)
def test_a_value_is_what_its_references_lead_to(files: Mapping[str, str], expected: object) -> None:
    assert resolved(files) == expected


def test_lists_that_are_put_together_are_followed_through_their_names() -> None:
    text = """
    variable "a" { default = [{ name = "a", machine_type = "g2-standard-4" }] }
    locals {
      all  = concat(var.a, local.more, [])
      more = [{ name = "b", machine_type = "a2-highgpu-1g" }]
    }
    module "gke" {
      source     = "terraform-google-modules/kubernetes-engine/google"
      node_pools = local.all
    }
    """
    assert [(pool.name, *shown(pool)) for pool in made({"main.tf": text})] == [
        ("a", "l4", 1),
        ("b", "a100-sxm4-40gb", 1),
    ]


def test_a_text_that_doubles_with_every_name_is_left_alone() -> None:
    names = "".join(f'  l{at} = "${{local.l{at + 1}}}${{local.l{at + 1}}}"\n' for at in range(10))
    text = f'locals {{\n  value = local.l0\n{names}  l10 = "lol and lol"\n}}\n'
    assert resolved({"main.tf": text}) == "it has too many nested references"


def test_a_list_that_holds_itself_twice_is_left_alone() -> None:
    text = """
    locals {
      value = 1
      all = concat(local.all, local.all)
    }
    module "gke" {
      source     = "terraform-google-modules/kubernetes-engine/google"
      node_pools = local.all
    }
    """
    assert made({"main.tf": text}) == []


def test_a_long_condition_is_left_alone() -> None:
    text = f'locals {{\n  value = var.a =={" " * 100_000}"b" ? 1 : 2\n}}\n'
    assert resolved({"main.tf": text}) == "it has too many nested references"


def test_the_call_of_a_module_decides_its_variables() -> None:
    module = {"m/main.tf": GKE.format(machine="var.machine", more="") + 'variable "machine" { default = "e2-medium" }'}
    call = 'module "a" {{\n  source = "./m"\n  {argument}\n}}\n'
    (alone,), (called,), (defaulted,) = (
        made(module),
        made({**module, "main.tf": call.format(argument='machine = "g2-standard-24"')}),
        made({**module, "main.tf": call.format(argument="")}),
    )
    assert [shown(one) for one in (alone, called, defaulted)] == [(None, 0), ("l4", 2), (None, 0)]


def test_two_calls_that_differ_leave_a_variable_unknown() -> None:
    module = {"m/main.tf": GKE.format(machine="var.machine", more="") + 'variable "machine" {}'}
    calls = "".join(
        f'module "{name}" {{\n  source = "./m"\n  machine = "{kind}"\n}}\n'
        for name, kind in (("a", "g2-standard-4"), ("b", "a2-highgpu-1g"))
    )
    (pool,) = made({**module, "main.tf": calls})
    assert shown(pool) == ("? var.machine is set to different values", None)


# ---- pools


def test_slices_and_shares_of_a_pool_leave_no_count() -> None:
    cut = 'guest_accelerator {\n  type = "nvidia-a100-80gb"\n  count = 8\n  gpu_partition_size = "1g.10gb"\n}'
    shared = (
        'guest_accelerator {\n  type = "nvidia-a100-80gb"\n  count = 8\n'
        '  gpu_sharing_config {\n    gpu_sharing_strategy = "TIME_SHARING"\n  }\n}'
    )
    (sliced,), (split,) = (
        made({"main.tf": GKE.format(machine='"a2-ultragpu-8g"', more=more)}) for more in (cut, shared)
    )
    assert [pool.accelerator.value for pool in (sliced, split)] == ["a100-sxm4-80gb"] * 2
    assert all(pool.gpus is not None and isinstance(pool.gpus.value, Unknown) for pool in (sliced, split))
    assert sliced.mig_profile is not None
    assert split.sharing is not None
    assert (sliced.mig_profile.value, split.sharing.value) == ("1g.10gb", "TIME_SHARING")


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        pytest.param("g2-standard-48", "", ("l4", 4), id="a machine that holds cards"),
        pytest.param(
            "n1-standard-8",
            'guest_accelerator {\n  type = "nvidia-tesla-t4"\n  count = 2\n}',
            ("t4", 2),
            id="cards that are attached",
        ),
        pytest.param("n2-standard-8", "", (None, 0), id="a machine without cards"),
        pytest.param("z9-mystery-1", "", ("? the catalog has no machine type z9-mystery-1", None), id="a stranger"),
        pytest.param(
            "n1-standard-8",
            'dynamic "guest_accelerator" {\n  for_each = []\n  content {}\n}',
            ("? a dynamic block attaches the GPUs", "unknown"),
            id="a dynamic block",
        ),
    ],
)
def test_a_pool_of_gke_has_the_cards_of_its_machine_or_those_attached(
    kind: str, more: str, expected: tuple[object, object]
) -> None:
    (pool,) = made({"main.tf": GKE.format(machine=f'"{kind}"', more=more)})
    card, count = shown(pool)
    assert (card, "unknown" if isinstance(count, Unknown) else count) == expected


def test_a_pool_of_gke_has_the_labels_that_gke_sets() -> None:
    (pool,) = made({"main.tf": GKE.format(machine='"a3-megagpu-8g"', more='labels = { team = "nlp" }')})
    assert {key: sorted(values) for key, values in pool.labels.items()} == {
        "team": ["nlp"],
        "cloud.google.com/gke-accelerator": ["nvidia-h100-80gb", "nvidia-h100-mega-80gb"],
        "cloud.google.com/gke-nodepool": ["gpu"],
        "node.kubernetes.io/instance-type": ["a3-megagpu-8g"],
        "beta.kubernetes.io/instance-type": ["a3-megagpu-8g"],
    }


def test_for_each_makes_a_pool_of_each_entry() -> None:
    text = """
    variable "pools" {
      default = {
        small = { machine = "g2-standard-4" }
        large = { machine = "a2-ultragpu-8g" }
      }
    }
    resource "google_container_node_pool" "gpu" {
      for_each = var.pools
      name     = each.key
      node_config {
        machine_type = each.value.machine
      }
    }
    """
    assert [(pool.name, *shown(pool)) for pool in made({"main.tf": text})] == [
        ("small", "l4", 1),
        ("large", "a100-sxm4-80gb", 8),
    ]


def test_a_count_of_zero_makes_no_pool() -> None:
    text = 'resource "aws_eks_node_group" "gpu" {\n  count = 0\n  instance_types = ["g5.xlarge"]\n}\n'
    assert made({"main.tf": text}) == []


EKS = """
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 20.0"
  eks_managed_node_groups = {
    gpu = {
      instance_types = ["p5.48xlarge"]
      labels         = { role = "train", gpu = true }
      taints         = { dedicated = { key = "dedicated", value = "train", effect = "NO_SCHEDULE" } }
    }
    system = { instance_types = ["m7i.large", "m6i.large"] }
    mixed  = { instance_types = ["g5.xlarge", "g6.xlarge"] }
    sizes  = { instance_types = ["g6.xlarge", "g6.12xlarge"] }
  }
}
"""


def test_the_module_of_eks_makes_a_pool_of_each_group() -> None:
    found = {pool.name: pool for pool in made({"main.tf": EKS})}
    assert {name: shown(pool) for name, pool in found.items()} == {
        "gpu": ("h100-sxm-80gb", 8),
        "system": (None, 0),
        "mixed": ("? one of a10g, l4", None),
        "sizes": ("l4", None),
    }
    assert found["gpu"].labels["role"] == {"train"}
    assert found["gpu"].labels["gpu"] == {"true"}
    assert [str(taint) for taint in found["gpu"].taints] == ["dedicated=train:NoSchedule"]
    assert "eks.amazonaws.com/nodegroup" not in found["gpu"].labels  # the module adds a suffix to the name


def test_the_module_of_gke_makes_a_pool_of_each_entry_with_its_labels() -> None:
    text = """
    module "gke" {
      source     = "terraform-google-modules/kubernetes-engine/google//modules/private-cluster"
      node_pools = [
        { name = "cpu", machine_type = "e2-standard-4" },
        { name = "gpu", machine_type = "n1-standard-16", accelerator_type = "nvidia-tesla-v100", accelerator_count = 4 },
      ]
      node_pools_labels = { all = { env = "dev" }, gpu = { team = "nlp" } }
      node_pools_taints = { gpu = [{ key = "team", value = "nlp", effect = "NO_EXECUTE" }] }
    }
    """
    cpu, gpu = made({"main.tf": text})
    assert [shown(cpu), shown(gpu)] == [(None, 0), ("v100-sxm2-16gb", 4)]
    assert (gpu.labels["env"], gpu.labels["team"]) == ({"dev"}, {"nlp"})
    assert [str(taint) for taint in gpu.taints] == ["team=nlp:NoExecute"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """
            resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
              name        = "gpupool"
              vm_size     = "standard_nc24ads_a100_v4"
              node_labels = { role = "gpu" }
              node_taints = ["sku=gpu:NoSchedule"]
            }
            """,
            ("a100-pcie-80gb", 1, "agentpool", "gpupool"),
            id="Azure, whose names are the same in either case",
        ),
        pytest.param(
            """
            resource "aws_eks_node_group" "gpu" {
              node_group_name = "gpu"
              instance_types  = ["g5.48xlarge"]
            }
            """,
            ("a10g", 8, "eks.amazonaws.com/nodegroup", "gpu"),
            id="Amazon",
        ),
        pytest.param(
            """
            resource "oci_containerengine_node_pool" "gpu" {
              name       = "gpu"
              node_shape = "BM.GPU.H100.8"
              initial_node_labels {
                key   = "role"
                value = "train"
              }
            }
            """,
            ("h100-sxm-80gb", 8, "role", "train"),
            id="Oracle",
        ),
        pytest.param(
            """
            resource "nebius_mk8s_v1_node_group" "gpu" {
              name = "gpu"
              template = {
                metadata  = { labels = { role = "train" } }
                resources = { platform = "gpu-h200-sxm", preset = "8gpu-128vcpu-1600gb" }
              }
            }
            """,
            ("h200-sxm-141gb", 8, "role", "train"),
            id="Nebius",
        ),
    ],
)
def test_the_pools_of_other_clouds(text: str, expected: tuple[object, object, str, str]) -> None:
    (pool,) = made({"main.tf": text})
    card, count, key, label = expected
    assert (*shown(pool), pool.labels[key]) == (card, count, {label})


def test_a_pool_of_karpenter_that_terraform_applies_is_one() -> None:
    text = """
    resource "kubectl_manifest" "pool" {
      yaml_body = <<-YAML
        apiVersion: karpenter.sh/v1
        kind: NodePool
        metadata:
          name: gpu
        spec:
          template:
            spec:
              requirements:
                - key: karpenter.k8s.aws/instance-family
                  operator: In
                  values: ["p5"]
                - key: karpenter.k8s.aws/instance-size
                  operator: In
                  values: ["48xlarge"]
      YAML
    }
    """
    (pool,) = made({"main.tf": text})
    assert (pool.name, *shown(pool)) == ("gpu", "h100-sxm-80gb", 8)


def test_series_of_machines_tell_whether_they_hold_cards() -> None:
    assert machine_types.has_gpus("n2-standard-8", "gcp") is False
    assert machine_types.has_gpus("a4-highgpu-8g", "gcp") is True
    assert machine_types.has_gpus("ct6e-standard-4t", "gcp") is None
    assert machine_types.has_gpus("m7i.large", "aws") is False
    assert machine_types.has_gpus("trn2.48xlarge", "aws") is None
    assert machine_types.has_gpus("Standard_D4s_v5", "azure") is False
    assert machine_types.has_gpus("Standard_NP10s", "azure") is None
