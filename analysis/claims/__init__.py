"""Claims, their cases and verdicts."""
