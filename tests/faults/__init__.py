"""Everything that can go wrong, done on purpose and counted: see table.py."""
