"""The configuration of runs. Only this folder imports Hydra."""
