"""Claims about runs, and the verdicts that the runs give."""
