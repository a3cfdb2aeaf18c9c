"""``python -m hearsay`` is the command ``hearsay``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from hearsay.cli import main

    sys.exit(main())
