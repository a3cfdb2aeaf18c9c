"""Write the reference anew: python -m tests.reference

Only for a new case, or where an issue says that numbers change: what is there is the proof that they did not.
"""

import json
from pathlib import Path

from tests.reference.cases import Watched, cases, counted, group, measured, run

HERE = Path(__file__).parent


def main() -> None:
    trajectories, counts = {}, {}

    def keep(name: str, watched: Watched, r: int = 0) -> None:
        trajectories[name] = {"x": watched.x[r], "rows": [measured(row) for row in watched.rows[r]]}
        counts[name] = [counted(row) for row in watched.rows[r]]

    for name, one in cases().items():
        keep(name, run([one]))
    together = run(group())
    for r in range(len(group())):
        keep(f"group {r}", together, r)
    for file, content in (("trajectories.json", trajectories), ("counts.json", counts)):
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in content.items()]
        (HERE / file).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
