"""What the paper says, and what the runs say to it."""
