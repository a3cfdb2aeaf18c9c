"""All that a person sees: how a command ends, bars, tables."""
