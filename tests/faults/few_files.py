"""A sweep in a process that may open few files: python -m tests.faults.few_files RUNS JOBS FILES"""

import resource
import sys

from rich.console import Console

from bench.sweep.sweep import run_all
from tests.helpers.configs import config


def main() -> int:
    runs, jobs, files = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    small = {"results": "results", "steps": 2, "dataset": "quadratics", "jobs": jobs}
    return run_all([config(seed=seed, **small) for seed in range(runs)], Console(quiet=True))


if __name__ == "__main__":
    sys.exit(main())
