"""Compute docs/curves.csv, the curves on the pages of methods (about a minute)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT), str(ROOT / "docs/_ext")]

from bench.base.registry import algorithms  # noqa: E402
from hearsay_site.curves import compute, store  # noqa: E402

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        store(compute(list(algorithms), Path(folder)))
