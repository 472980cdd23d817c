"""Device claims: GPUs of dynamic resource allocation, from the claims that a pod names to the container that uses them."""

from __future__ import annotations

import textwrap

import pytest
import reading
from samples import ExampleRepository

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown

POD = """
    apiVersion: v1
    kind: Pod
    metadata: {name: a}
    spec:
      resourceClaims: [{name: gpus, resourceClaimTemplateName: wanted}]
      containers:
        - {name: train, image: registry.example.com/train:1, resources: {claims: [{name: gpus}]}}
    """


def template(requests: str, version: str = "v1", more: str = "") -> str:
    devices = f"{{requests: [{requests}]{more}}}"
    head = f"apiVersion: resource.k8s.io/{version}\nkind: ResourceClaimTemplate\nmetadata: {{name: wanted}}\n"
    return head + f"spec: {{spec: {{devices: {devices}}}}}\n"


def roles(*objects: str, files: dict[str, str] | None = None) -> list[Role]:
    text = "---\n".join(textwrap.dedent(one).lstrip("\n") for one in objects)
    repository = ExampleRepository({path: textwrap.dedent(content).encode() for path, content in (files or {}).items()})
    loaded = documents.load("spec.yaml", text.encode())
    return [role for one in loaded.documents for found in adapters.read(one, repository) for role in found.roles]


def only(*objects: str, files: dict[str, str] | None = None) -> Role:
    (role,) = roles(*objects, files=files)
    return role


GPU = "{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}"


@pytest.mark.parametrize(
    ("requests", "version", "gpus"),
    [
        (GPU, "v1", 1),
        ("{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}", "v1", 4),
        ("{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}", "v1beta2", 4),
        ("{name: gpu, deviceClassName: gpu.nvidia.com, count: 2}", "v1beta1", 2),
        (f"{GPU}, {{name: more, exactly: {{deviceClassName: gpu.nvidia.com, count: 2}}}}", "v1", 3),
        (f"{GPU}, {{name: nic, exactly: {{deviceClassName: mrdma.google.com}}}}", "v1", 1),
        (
            "{name: gpu, firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com, count: 2}, "
            "{name: b, deviceClassName: gpu.nvidia.com, count: 2}]}",
            *("v1", 2),
        ),
        (
            "{name: gpu, firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com, count: 2}, "
            "{name: b, deviceClassName: gpu.nvidia.com, count: 4}]}",
            *("v1", "unknown: the first available of several requests decides"),
        ),
        (
            "{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}",
            *("v1", "unknown: the claim requests all devices that match"),
        ),
    ],
)
def test_a_container_has_the_gpus_that_its_claim_asks_for(requests: str, version: str, gpus: object) -> None:
    """resource.k8s.io v1 puts a request under `exactly`, v1beta1 had it flat (kubernetes.io, Dynamic Resource Allocation)."""
    role = only(template(requests, version), POD)
    assert reading.values(role, "gpus_per_pod", "gpus_per_replica") == [gpus, gpus]


def test_the_place_of_a_count_is_the_containers_entry_and_then_the_claim() -> None:
    role = only(POD, template("{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}"))
    first, second = role.fields["gpus_per_pod"].origins
    assert first.path == ("spec", "containers", 0, "resources", "claims", 0)
    assert (second.text(), role.text("accelerator_resource")) == ("4", "gpu.nvidia.com")


def test_a_claim_of_another_file_of_the_repository_is_found() -> None:
    role = only(POD, files={"claims.yaml": template(GPU)})
    assert reading.values(role, "gpus_per_pod") == [1]


def test_a_claim_that_nothing_states_is_explained() -> None:
    role = only(POD)
    assert role.value("gpus_per_pod") == Unknown("the claim wanted is not in the repository", "another object")
    assert role.fields["gpus_per_pod"].origins[0].text() == "wanted"


def test_a_container_that_names_a_request_has_only_its_devices() -> None:
    named = POD.replace("claims: [{name: gpus}]", "claims: [{name: gpus, request: gpu}]")
    both = f"{GPU}, {{name: more, exactly: {{deviceClassName: gpu.nvidia.com, count: 2}}}}"
    assert reading.values(only(named, template(both)), "gpus_per_pod") == [1]


SLICE = """{name: slice, exactly: {deviceClassName: mig.nvidia.com,
  selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'"}}]}}"""


def test_the_profile_of_a_slice_stands_in_a_selector() -> None:
    role = only(POD, template(SLICE))
    assert reading.values(role, "gpus_per_pod", "mig_profile", "accelerator") == [1, "1g.5gb", None]


def test_slices_of_several_profiles_have_none_in_common() -> None:
    other = SLICE.replace("slice,", "other,").replace("1g.5gb", "2g.10gb")
    role = only(POD, template(f"{SLICE}, {other}"))
    reason = "unknown: the claim requests MIG slices of several profiles, or of an unnamed one"
    assert reading.values(role, "gpus_per_pod", "mig_profile") == [2, reason]


@pytest.mark.parametrize(
    ("condition", "accelerator"),
    [
        ("productName == 'NVIDIA A100-SXM4-40GB'", "a100-sxm4-40gb"),
        (
            "productName.lowerAscii().matches('^.*a100.*$')",
            "unknown: the accelerator depends on the selectors of the claim",
        ),
        ("architecture == 'Hopper'", "unknown: the accelerator depends on the selectors of the claim"),
        ("productName == 'NVIDIA Z1'", "unknown: the product name NVIDIA Z1 is not known"),
    ],
)
def test_a_product_that_a_selector_names_is_the_accelerator(condition: str, accelerator: str) -> None:
    """The driver's name has blanks where the label nvidia.com/gpu.product has dashes."""
    selector = f"[{{cel: {{expression: \"device.attributes['gpu.nvidia.com'].{condition}\"}}}}]"
    wanted = f"{{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com, selectors: {selector}}}}}"
    assert reading.values(only(POD, template(wanted)), "accelerator") == [accelerator]


PARAMETERS = "{driver: gpu.nvidia.com, parameters: {kind: GpuConfig, sharing: {strategy: MPS}}}"
SHARING = f", config: [{{requests: [gpu], opaque: {PARAMETERS}}}]"


def test_a_claim_says_how_its_devices_are_shared() -> None:
    assert reading.values(only(POD, template(GPU, more=SHARING)), "sharing") == ["MPS"]
    other = SHARING.replace("requests: [gpu]", "requests: [another]")
    named = POD.replace("claims: [{name: gpus}]", "claims: [{name: gpus, request: gpu}]")
    assert reading.values(only(named, template(GPU, more=other)), "sharing") == [None]


def test_containers_that_use_one_claim_share_its_devices() -> None:
    second = "        - {name: other, image: registry.example.com/train:1, resources: {claims: [{name: gpus}]}}\n    "
    found = roles(POD.rstrip() + "\n" + second, template(GPU))
    assert [reading.values(role, "sharing") for role in found] == [["one claim for several containers"]] * 2


def test_a_channel_that_pods_share_shares_no_gpu() -> None:
    second = (
        "    resourceClaims: [{name: gpus, resourceClaimTemplateName: wanted}, {name: nic, resourceClaimName: net}]"
    )
    pod = POD.replace("      resourceClaims: [{name: gpus, resourceClaimTemplateName: wanted}]", f"  {second}")
    pod = pod.replace("claims: [{name: gpus}]", "claims: [{name: gpus}, {name: nic}]")
    net = claim("net").replace("gpu.nvidia.com", "mrdma.google.com")
    found = roles(template(GPU), net, pod, pod.replace("name: a}", "name: b}"))
    assert [reading.values(role, "gpus_per_pod", "sharing") for role in found] == [[1, None]] * 2


def claim(name: str = "one") -> str:
    head = f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: {name}}}\n"
    return head + f"spec: {{devices: {{requests: [{GPU}]}}}}\n"


def test_pods_that_name_one_claim_share_its_devices() -> None:
    one = POD.replace("resourceClaimTemplateName: wanted", "resourceClaimName: one")
    assert reading.values(only(claim(), one), "sharing", "gpus_per_pod") == [None, 1]
    found = roles(claim(), one, one.replace("name: a}", "name: b}"))
    assert [reading.values(role, "sharing") for role in found] == [["one claim for several containers"]] * 2


def test_a_claim_of_kubernetes_1_30_is_one_device_of_its_class() -> None:
    """resource.k8s.io/v1alpha2: resourceClassName, and the reference under `source`."""
    old = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaimTemplate\nmetadata: {name: wanted}\n"
    pod = POD.replace("resourceClaimTemplateName: wanted", "source: {resourceClaimTemplateName: wanted}")
    assert reading.values(only(old + "spec: {spec: {resourceClassName: gpu.nvidia.com}}\n", pod), "gpus_per_pod") == [1]


def test_a_class_of_ones_own_has_gpus_where_its_selector_names_the_driver() -> None:
    own = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: large}\n"
    selected = own + "spec: {selectors: [{cel: {expression: \"device.driver == 'gpu.nvidia.com'\"}}]}\n"
    wanted = template("{name: gpu, exactly: {deviceClassName: large, count: 2}}")
    assert reading.values(only(POD, wanted, selected), "gpus_per_pod") == [2]
    assert reading.values(only(POD, wanted), "gpus_per_pod") == ["unknown: the devices of class large are not known"]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param((POD, template("{name: nic, exactly: {deviceClassName: mrdma.google.com}}")), id="a network card"),
        pytest.param(
            (POD, template("{name: c, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}")),
            id="a channel of a compute domain",
        ),
        pytest.param(
            (POD.replace("resources: {claims: [{name: gpus}]}", "env: []"), template(GPU)), id="a claim unused"
        ),
        pytest.param((template(GPU), claim()), id="claims alone"),
        pytest.param(
            (
                "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d}\n"
                "spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: wanted}}}\n",
                POD,
            ),
            id="claims that a compute domain makes",
        ),
    ],
)
def test_what_claims_no_gpu_is_no_workload(objects: tuple[str, ...]) -> None:
    assert roles(*objects) == []


def test_claims_of_another_namespace_are_not_taken() -> None:
    elsewhere = template(GPU).replace("name: wanted}", "name: wanted, namespace: theirs}")
    here = POD.replace("name: a}", "name: a, namespace: ours}")
    assert reading.values(only(here, elsewhere), "gpus_per_pod") == [
        "unknown: the claim wanted is not in the repository"
    ]
