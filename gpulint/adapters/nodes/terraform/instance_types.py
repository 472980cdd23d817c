"""Instance types of Amazon in Terraform: those of a block, and those of the launch template that it names.

hashicorp/terraform-provider-aws: autoscaling_group (`launch_template`, `launch_configuration`,
`mixed_instances_policy`), eks_node_group (`launch_template`), launch_template, launch_configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.nodes.terraform import blocks
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.workload import Field, Unknown

TEMPLATE = re.compile(r"\b(aws_launch_template|aws_launch_configuration)\.([\w-]+)")


def read(spot: Spot, modules: Modules) -> list[Field]:
    """Return the instance types of a block. One unknown type stands for an unknown list."""
    if single := modules.field(spot.descend("instance_type")):
        return [single]
    listed = spot.descend("instance_types")
    items = modules.items(listed)
    if isinstance(items, Unknown):
        return [Field(items, (listed.origin(),))]
    return [kind for item in items if (kind := modules.field(item)) is not None]


def read_with_template(spot: Spot, modules: Modules) -> list[Field]:
    """Return the instance types of a block, else those of the launch template of its folder that it names."""
    own = read(spot, modules)
    references = [block.descend(key) for block in _list_blocks(spot, modules) for key in ("id", "name")]
    return own or _read_templates(spot, references, modules)


def read_autoscaling(spot: Spot, modules: Modules) -> list[Field]:
    """Return the instance types of an Auto Scaling group: those of its overrides, else those of its template."""
    policies = [
        inner
        for policy in blocks.blocks(spot.descend("mixed_instances_policy"), modules)
        for inner in _list_blocks(policy, modules)
    ]
    overrides = (override for policy in policies for override in blocks.blocks(policy.descend("override"), modules))
    stated = [kind for override in overrides for kind in read(override, modules)]
    named = (
        specification.descend(f"launch_template_{key}")
        for policy in policies
        for specification in blocks.blocks(policy.descend("launch_template_specification"), modules)
        for key in ("id", "name")
    )
    references = [spot.descend("launch_configuration"), *named]
    return stated or read_with_template(spot, modules) or _read_templates(spot, references, modules)


def _list_blocks(spot: Spot, modules: Modules) -> tuple[Spot, ...]:
    return blocks.blocks(spot.descend("launch_template"), modules)


def _read_templates(spot: Spot, references: list[Spot], modules: Modules) -> list[Field]:
    """Return the instance types of the first launch template that a reference names."""
    found = (template for reference in references for template in _find_templates(spot, reference, modules))
    template = next(found, None)
    return read(template, modules) if template is not None else []


def _find_templates(spot: Spot, reference: Spot, modules: Modules) -> Iterator[Spot]:
    match, folder = TEMPLATE.search(str(reference.value())), modules.find_folder(spot)
    for document in folder.documents if folder and match else ():
        if match and document.node(("resource", match[1], match[2])) is not None:
            yield Spot(document, ("resource", match[1], match[2]))
