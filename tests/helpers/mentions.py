"""Whether a message has the values that any wording of it must have."""


def mentions(text: str, *values: str) -> bool:
    """Return whether the values occur in the text one after the other."""
    for value in values:
        _, found, text = text.partition(value)
        if not found:
            return False
    return True
