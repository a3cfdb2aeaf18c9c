"""Terminal output: messages, progress bars, tables, exit codes."""
