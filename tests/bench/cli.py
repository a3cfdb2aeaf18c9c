"""The real command line, as a user would type it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python(script: str, *words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the repository with this interpreter, from ``cwd``."""
    return subprocess.run(
        [sys.executable, str(ROOT / script), *words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )


def run(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return python("bench/run.py", *words, cwd=cwd, **environment)
