"""Tests run side by side, one per core: none may take more than one."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
