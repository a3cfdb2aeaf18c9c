"""The report, as an HTML page and on W&B, and captions and tables for papers."""
