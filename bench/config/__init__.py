"""What is asked for; the only folder that knows Hydra."""
