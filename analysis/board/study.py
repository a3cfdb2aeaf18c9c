"""The parts of the board, each made once from the results and the frozen files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from analysis.board.answers import Answer, Scored, answers
from analysis.board.cells import Curve, bytes_paid, cells, curves
from analysis.board.choose import as_table, choose_dev, choose_tuned, differing, graded, native
from analysis.board.clock import clocks
from analysis.board.extended import sealed_board, side_board, with_submission
from analysis.board.frozen import read_frozen
from analysis.board.gate import gate
from analysis.board.grid import check_complete
from analysis.board.hidden import hidden
from analysis.board.margins import margins, margins_markdown
from analysis.board.markdown import hidden_markdown, side_markdown, standings_markdown
from analysis.board.scores import by_tries, every_pair, reported, scored, standings
from analysis.board.sealed import Sealed, sealed
from analysis.board.sensitivity import reached, sensitivity, sensitivity_markdown
from analysis.board.side import SideTable
from analysis.board.targets import freeze
from analysis.results.errors import NoData
from analysis.results.labels import marked, method_name
from analysis.results.results import Results
from analysis.results.warnings import warnings
from analysis.tables.format import csv
from bench.base.board import Board
from bench.base.board_file import read


@dataclass(frozen=True, eq=False)
class Study:
    """The board of one results folder.

    Attributes:
        results: The runs.
        folder: The folder of the version, with board.yaml.
        home: The folder of targets.csv and chosen.csv.
        size: full or quick.
        submission: The folder of a submission, which is one more entrant; its choice is its own file.
    """

    results: Results
    folder: Path
    home: Path
    size: str = "full"
    submission: Path | None = None

    def files(self, part: str) -> dict[str, str]:
        """Return the files of a part, with their texts."""
        makers: dict[str, Callable[[], dict[str, str]]] = {
            "targets": lambda: {"targets.csv": csv(self.fresh_targets)},
            "gate": lambda: {"gate.csv": csv(self.gate)},
            "choose": lambda: {"chosen.csv": csv(self.choice)},
            "score": self._score_files,
        }
        return makers[part]()

    @cached_property
    def warnings(self) -> list[str]:
        """Sentences about runs that cannot be read, and about runs of different versions."""
        return warnings(self.results)

    @cached_property
    def board(self) -> Board:
        """The protocol, with the entrant of the submission."""
        found = read(self.folder, self.size)
        return with_submission(found, self.submission) if self.submission else found

    @cached_property
    def table(self) -> pd.DataFrame:
        """The runs of all workloads, the development problems and not the side tables."""
        return cells(self.results, self.board, {**self.board.workloads, **self.board.dev})

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """The courses of the runs of ``table``."""
        return curves(self.results, self.table, {**self.board.workloads, **self.board.dev})

    @cached_property
    def fresh_targets(self) -> pd.DataFrame:
        """The targets of the workloads and development problems that have runs."""
        there = set(self.table["workload"])
        known = {**self.board.workloads, **self.board.dev}
        some = [workload for name, workload in known.items() if name in there]
        if not some:
            raise NoData("these results have no run of the board; type python bench/board.py status")
        return freeze(self.board, some, self.table, self.curves)

    @cached_property
    def targets(self) -> pd.DataFrame:
        """The frozen targets."""
        columns = ("workload", "rule", "start", "reference")
        return read_frozen(self.home / "targets.csv", "targets", columns, self.size == "quick")

    @cached_property
    def gate(self) -> pd.DataFrame:
        """Whether the graph is felt on each workload."""
        there = set(self.table["workload"])
        some = [workload for name, workload in self.board.workloads.items() if name in there]
        if not some:
            raise NoData("these results have no run of the gate; type python bench/board.py run gate")
        frozen = freeze(self.board, some, self.table, self.curves)
        return gate(some, self.table, self.curves, frozen)

    @cached_property
    def graded(self) -> pd.DataFrame:
        """The tuning runs of the workloads with their scores."""
        return graded(self.board, self.board.workloads.values(), self.table, self.curves, self.targets)

    @cached_property
    def _graded_dev(self) -> pd.DataFrame | None:
        """The runs of the development problems with their scores; None without such runs."""
        if not set(self.board.dev) & set(self.table["workload"]):
            return None
        return graded(self.board, self.board.dev.values(), self.table, self.curves, self.targets)

    @cached_property
    def choice(self) -> pd.DataFrame:
        """The chosen settings of all rulesets and side tables; the grids must be complete."""
        known = [*self.board.workloads.values(), *self.board.dev.values()]
        mine = self.submission.name if self.submission else None
        check_complete(known, self.table, self.board.everyone.values(), mine)
        rows = choose_tuned(self.graded)
        if self._graded_dev is not None:
            rows += choose_dev(self._graded_dev)
        for side in self._side_tables.values():
            rows += side.choice()
        rows += native(self.board)
        return as_table([row for row in rows if mine in (None, row["method"])])

    @cached_property
    def _side_tables(self) -> dict[str, SideTable]:
        """The side tables, with the targets of the workload that each is based on."""
        out = {}
        for name, side in self.board.side.items():
            frozen = self.targets[self.targets["workload"] == side.base].assign(workload=name)
            out[name] = SideTable(self.results, side_board(self.board, name), frozen)
        return out

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """The frozen choice; that of a submission must follow from its runs with the tuning seeds."""
        columns = ("ruleset", "workload", "method")
        found = [read_frozen(self.home / "chosen.csv", "choose", columns, self.size == "quick")]
        if self.submission:
            found.append(read_frozen(file := self.submission / "chosen.csv", "choose", columns, inside=True))
            if wrong := differing(found[-1], self.choice):
                raise NoData(f"{file} has another choice than the tuning seeds: {wrong}; repeat make_board.py choose")
        return pd.concat(found, ignore_index=True)

    @cached_property
    def reported(self) -> pd.DataFrame:
        """The report runs at the chosen settings."""
        main = self.table[self.table["workload"].isin(list(self.board.workloads))]
        return reported(self.board, main, self.chosen)

    @cached_property
    def scored(self) -> pd.DataFrame:
        """The report runs with their scores at every price."""
        runs = self.reported
        parts = bytes_paid(self.results, runs, self.board.workloads)
        times = clocks(self.results, parts, self.board.networks)
        return scored(self.board, runs, self.curves, self.targets, times)

    @cached_property
    def standings(self) -> pd.DataFrame:
        """The standings of the rulesets and prices."""
        return standings(self.board, self.scored, self.ranked)

    @cached_property
    def answers(self) -> list[Answer]:
        """The answers of the board in sentences and tables."""
        fresh = self.sealed.standings if self.sealed else None
        return answers(Scored(self.board, self.standings, self.scored, self.label, self.side, fresh))

    @cached_property
    def tries(self) -> pd.DataFrame:
        """V(K) of every entrant."""
        return by_tries(self.board, self.graded)

    @cached_property
    def hidden(self) -> pd.DataFrame:
        """The changes of the tuned scores by changed numbers of the papers; empty without such runs."""
        return hidden(self.results, self.board, self.chosen, self.targets)

    @cached_property
    def side(self) -> dict[str, pd.DataFrame]:
        """The standings of the side tables that have report runs."""
        found = {name: side.standings(self.chosen, self.ranked) for name, side in self._side_tables.items()}
        return {name: table for name, table in found.items() if table is not None}

    @cached_property
    def sealed(self) -> Sealed | None:
        """The standings on the sealed workloads, relative to D-SGD's development setting; None if there are none."""
        return sealed(self.results, sealed_board(self.board), self.chosen, self.ranked)

    def algo(self, entrant: str) -> str:
        """Return the method of an entrant."""
        known = self.board.everyone.get(entrant)
        return known.method if known else entrant

    def ranked(self, entrant: str) -> bool:
        """Return whether an entrant is ranked: by the protocol, or by what the runs of a submission declare."""
        if self.submission is None or entrant != self.submission.name:
            return entrant in self.board.ranked
        return not marked({self.algo(entrant): ""}, self.results)[0][self.algo(entrant)]

    def label(self, entrant: str) -> str:
        """Return the name of an entrant with its mark: D-SGD, GT-NSGDm†, pooled Adam."""
        algo = self.algo(entrant)
        name = marked({algo: method_name(algo, self.results)}, self.results)[0][algo]
        prefix = entrant.removesuffix(algo).rstrip("_")
        return f"{prefix} {name}" if prefix else name

    def _score_files(self) -> dict[str, str]:
        long = self.scored.drop(columns=["values", "costs"])
        said = ["## Answers", *(line for answer in self.answers for line in answer.markdown()), ""]
        files = {
            "scores.csv": csv(long),
            "standings.csv": csv(self.standings),
            "tries.csv": csv(self.tries),
            "pairs.csv": csv(every_pair(self.board, self.scored[self.scored["price"].isin(list(self.board.prices))])),
            "board.md": standings_markdown(self.board, self.standings, self.label, self.warnings, said),
        }
        changed = sensitivity(self.board, self.reported, self.curves, self.targets, self.ranked)
        targets = reached(self.board, self.scored, self.ranked)
        files |= {"sensitivity.csv": csv(changed), "reached.csv": csv(targets)}
        files["board.md"] += sensitivity_markdown(changed, targets, self.label)
        if self._graded_dev is not None:
            of_methods = self._graded_dev[~self._graded_dev["entrant"].isin(list(self.board.bounds))]
            table = margins(of_methods, self.chosen)
            files["margins.csv"] = csv(table)
            files["board.md"] += "\n".join(margins_markdown(table, self.label)) + "\n"
        for name, table in self.side.items():
            files[f"side_{name}.csv"] = csv(table)
            files["board.md"] += side_markdown(name, table, self.label)
        if self.sealed is not None:
            files["sealed.csv"] = csv(self.sealed.standings)
            files["board.md"] += side_markdown("sealed", self.sealed.standings, self.label, self.sealed.note)
        if len(self.hidden):
            files["hidden.csv"] = csv(self.hidden)
            files["board.md"] += hidden_markdown(list(self.board.hidden["workloads"]), self.hidden, self.label)
        return files
