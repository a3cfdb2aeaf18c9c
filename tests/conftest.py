"""Tests run side by side, one per core: none may take more than one; and only those of W&B use W&B."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["WANDB_MODE"] = "disabled"
