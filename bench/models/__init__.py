"""One small file per model."""
