"""The protocol of the board: its workloads, entrants and phases, and submissions. bench/board.py is the command."""
