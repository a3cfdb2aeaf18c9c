"""Reproduction of the D-NASA paper, as a plug-in. The folder ``conf`` holds its experiments."""
