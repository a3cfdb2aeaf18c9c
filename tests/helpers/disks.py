"""Small and read-only file systems, in a mount namespace of the test's own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def on_a_disk(folder: Path, options: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script with a fresh tmpfs mounted at ``folder``; gone when it ends."""
    folder.mkdir(exist_ok=True)
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here: no file system of the test's own")
    mount = f"mount -t tmpfs -o {options} none '{folder}'"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("mount namespaces are not allowed here")
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount} && {script}"], capture_output=True, text=True, timeout=100
    )
