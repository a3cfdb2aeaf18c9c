"""The statistics behind the claims of the paper, a file per theme."""
