"""How figures look, whatever they show."""
