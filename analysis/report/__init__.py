"""The report: one page that opens from disk, and the same story on W&B."""
