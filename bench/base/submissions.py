"""What bench and analysis know of the board: the archive of a version, and rules for the entrant of a submission."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

ARCHIVE = "runs"
"""The folder of a version with the archive of its runs."""
OPTION = re.compile(r"algo\.\w+")
SET = "topology.lazy"
"""The only setting of a submission beside the options of its method."""
NAME = "algo.name"
"""No option: the file of the options states the method."""
SCHEDULE = "algo.schedule"
FORBIDDEN = ("name", "reference")
"""Keys of entrants that a submission lacks: its name is that of its folder, and it sets no targets."""
GRIDS = ("follow", "length")
"""The grids of board.yaml."""


def wrong_entrant(name: str, values: Any, known: Collection[str]) -> str | None:
    """Return a sentence on what a submission may not state, None if all is allowed.

    Args:
        name: The name of the submission.
        values: The entry ``entrant`` of submission.yaml.
        known: The names of the entrants and bounds of the board.
    """
    if name in known:
        return f"The board has an entrant '{name}'. Rename the folder of the submission."
    if not isinstance(values, Mapping):
        return f"entrant must be a mapping with method, stepsize and grid, got {values!r}."
    if taken := [key for key in FORBIDDEN if key in values]:
        return f"A submission must not state '{taken[0]}'. Remove it from entrant."
    options, native, schedules = values.get("set"), values.get("native"), values.get("schedules")
    for key, part in (("set", options), ("native", native)):
        if part is not None and not isinstance(part, Mapping):
            return f"{key} of entrant must be a mapping such as {{algo.beta: 0.9}}, got {part!r}."
        for option, value in (part or {}).items():
            if option == NAME:
                return f"{key} of entrant must not have {NAME}, got {value!r}. State the method as method of entrant."
            if isinstance(value, list):
                return f"{key} of entrant must have one value of {option}, got {value!r}. Keep one of them."
    for key in options or {}:
        if key != SET and not OPTION.fullmatch(str(key)):
            return f"set of entrant may have options of the method, such as algo.beta, and {SET}; got '{key}'."
        if key in (SCHEDULE, f"algo.{values.get('stepsize')}"):
            return f"set of entrant must not have {key}, which the grid sets. Remove it."
    for key in native or {}:
        if not OPTION.fullmatch(str(key)):
            return f"native of entrant may have options of the method only, such as algo.beta; got '{key}'."
    if schedules is not None and not (isinstance(schedules, list) and [type(one) for one in schedules] == [str]):
        return (
            f"schedules of entrant must be a list with one schedule, such as [diminishing], got {schedules!r}. "
            "Remove it to use the schedules of each workload."
        )
    if "stepsize" not in values:
        return "entrant must state stepsize: the option that the grid sets, or null if the method has none."
    for key, kinds in (("method", str), ("stepsize", str | None)):
        if not isinstance(values.get(key, name), kinds):
            return f"{key} of entrant must be a text, got {values[key]!r}."
    if not re.fullmatch(r"\w+", method := values.get("method", name)):
        return f"method of entrant must be a name of letters, digits and '_', got {method!r}."
    if values.get("grid", GRIDS[0]) not in GRIDS:
        return f"grid of entrant must be one of {', '.join(GRIDS)}, got {values['grid']!r}."
    return None
