"""Runs of blocks of settings that are no experiment file, such as those of the board: many methods on many problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.config.compose import hydra_here, prepared
from bench.config.experiment import blocks_of
from bench.config.plan import Planner, Say
from bench.config.point import Base
from bench.config.run_config import RunConfig, parse
from bench.config.source import USUAL


def of_blocks(
    blocks: Sequence[Mapping[str, Any]], words: Sequence[str], name: str, say: Say = lambda made, of: None
) -> list[list[RunConfig]]:
    """Return the runs of each block; typed ``words`` come before its settings."""
    source, words = prepared(words, USUAL)
    with hydra_here(words, source):
        planner = MethodPlanner(parse, say, None, source.name)
        whole = planner.base(planner.divide(words)[0])
        out = []
        for number, block in enumerate(blocks_of({"blocks": [*blocks]}, name)):
            say(number, len(blocks))
            out.append([parse(point.values()) for point in planner.points_of_block(block, words, whole)])
        return out


class MethodPlanner(Planner):
    """Composes each method once, and each combination of other members once, instead of all pairs of them."""

    def base(self, words: Sequence[str]) -> Base:
        """Return the composition of these words. The file of a method must set its own options only."""
        method = [word for word in words if word.startswith("algo=")]
        others = [word for word in words if not word.startswith("algo=")]
        if not method:
            return super().base(words)
        usual, mine = super().base([]), super().base(method)
        changed = {key for key in mine.values if mine.values[key] != usual.values.get(key)}
        if changed <= {"algo"} and not (mine.refers or (rest := super().base(others)).refers):
            return rest._replace(values={**rest.values, "algo": mine.values["algo"]})
        return super().base(words)
