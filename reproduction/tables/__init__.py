"""Tables that only the paper needs."""
