"""Tables of the paper."""
