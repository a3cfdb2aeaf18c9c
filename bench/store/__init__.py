"""The run store: a folder for each run, safe against crashes, other processes and strange files."""
