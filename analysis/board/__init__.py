"""The board: targets, chosen settings, scores, tiers and the page, from stored runs and board.yaml."""
