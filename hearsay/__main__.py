"""``python -m hearsay`` is the command ``hearsay``."""

import sys

from hearsay.cli import main

if __name__ == "__main__":
    sys.exit(main())
