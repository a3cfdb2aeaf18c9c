"""What cannot be drawn is said in a sentence."""


class NoData(Exception):
    """There is nothing to draw, and why."""
