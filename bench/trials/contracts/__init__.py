"""Promises, checked for every plug-in that is found."""
