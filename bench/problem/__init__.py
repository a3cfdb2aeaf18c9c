"""f, its gradient, and what is measured of it."""
