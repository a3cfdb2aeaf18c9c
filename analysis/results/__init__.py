"""From a folder, an archive or W&B to one tidy table."""
