"""Wording of messages that several tests look for. Other wording is in tests/test_messages.py; tests assert values."""

KILLED = "exited without an error message"
NOT_UPLOADED = "not uploaded to W&B"
IGNORED = "ignored options: "
RESUMES = "Repeat the command to resume."
HIDDEN = "Hidden columns"
SKIPPED = "Skipping plug-in '{}', which cannot be imported: {}"
