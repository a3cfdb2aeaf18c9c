"""The columns of every run's metrics; no torch here, so that everybody may ask."""

COLUMNS = [
    *("step", "epoch", "samples", "rounds", "vectors", "bytes"),
    *("train_loss", "test_loss", "test_accuracy", "stationarity", "grad_norm", "grad_norm_mean"),
    *("consensus", "consensus_z", "consensus_bound", "tracking_error"),
    *("compute_s", "comm_s", "eval_s", "wall_s"),
]
