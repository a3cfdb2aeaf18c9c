"""Whose Weights & Biases: which server, and whether anybody is logged in there."""

from __future__ import annotations

import netrc
import os
from urllib.parse import urlparse


def mode() -> str:
    """What the user set, else online for those who are logged in, else offline."""
    if given := os.environ.get("WANDB_MODE"):
        return given
    if os.environ.get("WANDB_API_KEY"):
        return "online"
    try:
        known = netrc.netrc().hosts
    except (OSError, netrc.NetrcParseError):
        return "offline"
    return "online" if urlparse(base_url()).hostname in known else "offline"


def base_url() -> str:
    """The server that W&B itself would talk to: of its environment, its settings file, or its own default."""
    import wandb

    return str(wandb.setup().settings.base_url)
