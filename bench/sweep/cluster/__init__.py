"""A cluster's queue: what it is asked for, and what becomes of it."""
