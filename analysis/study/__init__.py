"""What is compared with what: selections, statistics, names."""
