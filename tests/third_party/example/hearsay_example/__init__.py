"""Importing this package registers what it brings; the folder conf/ holds the Hydra options."""

from hearsay_example import blobs, nesterov, wheel

__all__ = ["blobs", "nesterov", "wheel"]
