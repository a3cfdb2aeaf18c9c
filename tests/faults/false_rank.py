"""A rank that claims to be somebody else: python false_rank.py CLAIM… -n 1 the usual words, where mpiexec is expected.

It shows the token it was given, and a place, a number and a time of start that are given to it; it heeds
no SIGTERM, and stays when the runner is gone.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.engine.link import ADDRESS, TOKEN, Link

signal.signal(signal.SIGTERM, signal.SIG_IGN)
claims = json.loads(sys.argv[1])
for rank, claim in enumerate(claims):
    link = Link.connect(os.environ[ADDRESS])
    who = {
        "token": os.environ[TOKEN],
        "rank": rank,
        "size": len(claims),
        "host": "here",
        "library": "none",
        "peak_mb": 1.0,
    }
    link.send({**who, **claim})
    globals()[f"kept {rank}"] = link
time.sleep(60)
