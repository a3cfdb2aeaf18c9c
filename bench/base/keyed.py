"""Random generators with a key (seed, node, purpose, block). Imports no torch."""

from __future__ import annotations

import hashlib

import numpy as np

EVERYONE = -1
"""The node of draws that all nodes share."""


def generator(seed: int, node: int, purpose: str, block: int = 0) -> np.random.Generator:
    """Return a new generator for one key. Distinct keys give independent streams."""
    key = f"{seed}/{node}/{purpose}/{block}".encode()
    digest = hashlib.blake2b(key, digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
