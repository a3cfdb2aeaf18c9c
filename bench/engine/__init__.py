"""Engines: compute a run in this process, in another one, or on MPI ranks."""
