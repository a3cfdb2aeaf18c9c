"""The folder of the suite."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder with bench/, conf/, algorithms/ and the rest."""
