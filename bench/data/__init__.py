"""Data that is fetched once, checked and mapped."""
