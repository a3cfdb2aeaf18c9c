"""The ground: names, options, draws, files and words that everything stands on. No torch program, no Hydra, no rich."""
