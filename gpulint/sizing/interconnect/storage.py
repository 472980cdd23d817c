"""Storage: read bandwidth of the weight volume, write bandwidth of the checkpoint volume, and
loading time.
"""

from __future__ import annotations


def storage_read_bytes_per_s(storage_read_s_per_byte: float, provisioned_bytes_per_s: float | None) -> float:
    """Read bandwidth of one pod from the volume of its weights.

    storage_read_bytes_per_s = provisioned_bytes_per_s, else 1 / storage_read_s_per_byte

    Args:
        storage_read_s_per_byte: of the class of the volume (fitted) [s/byte]; 0 where the class is not known.
        provisioned_bytes_per_s: what the volume's class was given on purpose, else None [bytes/s].
    Returns:
        [bytes/s]
    Validity: sequential reads of large files, one direction, one client.

    >>> round(storage_read_bytes_per_s(7.63e-9, None) / 2**20)  # gp3 as it comes
    125

    Source: definition.
    """
    if provisioned_bytes_per_s is None and not storage_read_s_per_byte:
        raise LookupError("the storage class of the weight volume is not known")
    return provisioned_bytes_per_s or 1 / storage_read_s_per_byte


def storage_write_bytes_per_s(storage_write_s_per_byte: float, provisioned_write_bytes_per_s: float | None) -> float:
    """Write bandwidth of a run to the volume of its checkpoints.

    storage_write_bytes_per_s = provisioned_write_bytes_per_s, else 1 / storage_write_s_per_byte

    Args:
        storage_write_s_per_byte: of the class of the volume (fitted) [s/byte].
        provisioned_write_bytes_per_s: what the volume's class was given on purpose, else None [bytes/s].
    Returns:
        [bytes/s]
    Validity: for the whole volume and all its clients; one client may get less.

    >>> round(storage_write_bytes_per_s(0.0, 273e9) / 1e9)  # Megatron-LM's runs on Selene: 273 GB/s
    273

    Source: definition.
    """
    if provisioned_write_bytes_per_s is None and not storage_write_s_per_byte:
        raise LookupError("the storage class of the checkpoint volume is not known")
    return provisioned_write_bytes_per_s or 1 / storage_write_s_per_byte


def weight_load_s(
    weight_bytes: float,
    pods_per_replica: int,
    weight_read_s_per_byte: float,
    storage_read_s_per_byte: float,
    provisioned_bytes_per_s: float | None,
    volume_read_excess: float,
) -> float:
    """Time to read the weights from their volume into the GPUs.

    weight_load_s = weight_bytes / pods_per_replica · max(weight_read_s_per_byte, volume_read_excess · time of a byte on it)

    Args:
        weight_bytes: weights of the whole model [bytes]. pods_per_replica: pods that share the reading.
        weight_read_s_per_byte: time in which an engine reads a byte where the volume does not hold it up (fitted) [s/byte].
        storage_read_s_per_byte: of the class of the volume (fitted) [s/byte]; 0 where the class is not known.
        provisioned_bytes_per_s: what the volume's class was given on purpose, else None [bytes/s].
        volume_read_excess: time that a loader takes against that of its volume (fitted).
    Returns:
        [s]; a download from a hub comes on top
    Validity: copies of the model in one pod are read once; the others come from the page cache.

    >>> round(weight_load_s(141e9, 1, 8.3e-10, 0.0, None, 1.5))  # a disk in the node
    117
    >>> round(weight_load_s(141e9, 1, 8.3e-10, 7.63e-9, None, 1.0) / 60)  # the same from a gp3 volume as it comes: 18 minutes
    18
    >>> round(weight_load_s(16.06e9, 1, 8.3e-10, 7.63e-9, 1e9, 3.0))  # Llama-3-8B from gp3 with 1 GB/s: 47.99 s by pages
    48

    Source: start-up logs of vLLM 0.19 (llm-d-incubation/llm-d-planner d3121e0); documentation of the volumes' makers; NVIDIA
        Run:ai Model Streamer benchmark on g5.12xlarge.
    """
    volume = 1 / provisioned_bytes_per_s if provisioned_bytes_per_s else storage_read_s_per_byte
    return weight_bytes / pods_per_replica * max(weight_read_s_per_byte, volume_read_excess * volume)


def download_s(weight_bytes: float, hub_s_per_byte: float) -> float:
    """Time to download the weights from a model hub.

    download_s = weight_bytes · hub_s_per_byte

    Args:
        weight_bytes: weights of the whole model [bytes]. hub_s_per_byte: time of a byte from a hub (fitted) [s/byte].
    Returns:
        [s]

    >>> round(download_s(141e9, 5e-9) / 60)  # 70 billion parameters in 16 bits at 200 MB/s: 12 minutes
    12

    Source: definition.
    """
    return weight_bytes * hub_s_per_byte
