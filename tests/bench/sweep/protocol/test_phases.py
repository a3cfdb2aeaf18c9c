"""The runs of the phases: budgets, seeds, grids and chosen settings."""

from contextlib import suppress
from dataclasses import replace

import pytest
import yaml

from bench.base.board_file import entrant, read
from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.sweep.protocol.chosen import Chosen, next_value, values_to_try
from bench.sweep.protocol.hidden import changed, variants
from bench.sweep.protocol.phases import PHASES, cells
from bench.sweep.protocol.sealed import sealed, write_sealed
from tests.helpers.configs import config, rows


@pytest.fixture(scope="module")
def board():
    return read()


def cell(board, phase, workload, name, chosen=()):
    (found,) = [c for c in cells(board, phase, chosen) if (c.workload.name, c.entrant.name) == (workload, name)]
    return found


def test_every_entrant_tunes_an_option_of_a_registered_method(board):
    tables = [board.everyone, *(side.entrants for side in board.side.values())]
    for one in (one for table in tables for one in table.values()):
        options = algorithms[one.method].options()
        assert one.stepsize is None or one.stepsize in options
        assert {key.removeprefix("algo.") for key in one.native or {}} <= set(options)


def test_all_gossip_methods_but_those_for_exact_gradients_take_part(board):
    declared = [algorithms[name].declare_for({}) for name in algorithms]
    gossip = {
        p.name
        for p in declared
        if p.mixes == "doubly" and p.compresses == "no" and not p.asynchronous and not p.exact_average and not p.exact
    }
    assert set(board.entrants) >= gossip
    assert set(board.entrants) <= {p.name for p in declared if not p.exact}


@pytest.mark.parametrize(
    ("name", "steps"),
    [("dsgd", 4000), ("dsgt", 3999), ("kgt", 800), ("detag", 999), ("deepstorm", 1999)],
)
def test_no_run_has_more_gradients_than_the_budget(board, name, steps):
    (block,) = cell(board, "tune", "D1", name).blocks
    assert block["steps"] == steps
    assert block["eval_every"] == steps // 32


def test_the_grid_has_fourteen_settings_and_seven_without_a_schedule(board):
    assert cell(board, "tune", "D1", "dsgd").runs == 14 * 3
    assert cell(board, "tune", "D1", "deepstorm").runs == 7 * 3
    assert cell(board, "tune", "I1", "dsgd").runs == 7 * 2
    assert cell(board, "tune", "D1", "d_dog").runs == 3


def test_the_gate_has_its_seeds_for_dsgd_and_the_tuning_seeds_for_other_references(board):
    seeds = {c.entrant.name: c.blocks[0]["seed"] for c in cells(board, "gate") if c.workload.name == "D1"}
    assert seeds.pop("dsgd") == seeds.pop("pooled_dsgd") == [0, 1, 2, 3, 4]
    assert seeds == {name: [0, 1, 2] for name in ("pooled_adam", "pooled_nsgdm", "pooled_storm")}


def test_methods_that_need_float64_get_it_on_images_too(board):
    kinds = {name: cell(board, "tune", "I1", name).blocks[0]["dtype"] for name in ("dsgd", "ed")}
    assert kinds == {"dsgd": "float32", "ed": "float64"}


def test_report_seeds_are_in_no_other_phase(board):
    chosen = [Chosen("tuned", "D1", "dsgd", {"algo.eta": 1, "algo.schedule": "fixed"})]
    seeds = {
        phase: {seed for c in cells(board, phase, chosen) for block in c.blocks for seed in block["seed"]}
        for phase in ("gate", "pilot", "dev", "tune", "hidden", "report")
    }
    report = seeds.pop("report")
    assert report == set(range(100, 110))
    assert all(report.isdisjoint(some) for some in seeds.values())


@pytest.mark.parametrize(
    ("value", "new"),
    [(0.2, (0.6, 0.0666667)), (0.9, (0.7, 0.966667)), (2.0, (6.0, 0.666667)), (5, (15, 2)), (1, (3, 1))],
)
def test_a_number_is_multiplied_a_decay_rate_approaches_1_and_an_integer_is_rounded(value, new):
    assert (changed(value, 3), changed(value, 1 / 3)) == new


def test_hidden_numbers_are_changed_one_at_a_time(board):
    chosen = [
        Chosen(rule, "T1", name, {"algo.eta": 3}) for rule in ("tuned", "dev") for name in ("dadam", "kgt", "dsgd")
    ]
    tried = cell(board, "hidden", "T1", "dadam", chosen).blocks
    usual = {name: option.default for name, option in algorithms["dadam"].options().items()}
    apart = [
        {k: v for k in ("beta1", "beta2", "epsilon") if (v := b.get(f"algo.{k}", usual[k])) != usual[k]} for b in tried
    ]
    assert apart == [
        *({"beta1": 0.7}, {"beta1": 0.966667}, {"beta2": 0.997}, {"beta2": 0.999667}),
        *({"epsilon": 3e-8}, {"epsilon": 3.33333e-9}),
    ]
    assert {(b["algo.eta"], tuple(b["seed"])) for b in tried} == {(3, (0,))}
    steps = {b["algo.local_steps"]: b["steps"] for b in cell(board, "hidden", "T1", "kgt", chosen).blocks[:2]}
    assert steps == {15: 266, 2: 2000}  # 4000 gradients
    assert {c.entrant.name for c in cells(board, "hidden", chosen)} == {"dadam", "kgt"}


def test_numbers_that_are_left_out_are_those_of_options(board):
    for name, left_out in board.hidden["without"].items():
        assert {one.split()[0] for one in left_out} <= set(algorithms[board.entrants[name].method].options())


def losses(method, **options):
    """The course of a small run with large gradients, so that clipping has an effect."""
    found = config(
        algo={"name": method, "schedule": "fixed", **options}, topology={"name": "ring", "lazy": True}, scale=9.0
    )
    return [row["node_loss"] for row in rows(found)[0]]


@pytest.mark.thorough
def test_numbers_are_left_out_if_they_have_no_effect(board):
    usual = replace(board, hidden={**board.hidden, "without": {}})
    idle = {}
    for name, one in board.entrants.items():
        before = losses(one.method)
        for key, value in ((key, v.set[key]) for v in variants(usual, one) for key in set(v.set) - set(one.set)):
            option = key.removeprefix("algo.")
            with suppress(UserError):
                if losses(one.method, **{option: value}) == before and option != "epsilon":
                    idle.setdefault(name, set()).add(option)
    impossible = "p"  # the moments of the noise are at most 2, and more than 1
    listed = {
        name: {one for one in some if " " not in one} - {impossible} for name, some in board.hidden["without"].items()
    }
    assert idle == {name: some for name, some in listed.items() if some}


def test_a_report_has_the_chosen_and_the_native_settings_once(board):
    native = {"algo.schedule": "diminishing", "algo.multiplier": 1}
    chosen = [Chosen("tuned", "D1", "dnasa", {**native, "algo.multiplier": 3}), Chosen("dev", "all", "dnasa", native)]
    tried = [block["algo.multiplier"] for block in cell(board, "report", "D1", "dnasa", chosen).blocks]
    assert tried == [3, 1]
    (elsewhere,) = cell(board, "report", "D2", "dnasa", chosen).blocks
    assert elsewhere["algo.multiplier"] == 1


def test_a_best_value_at_an_end_adds_two_values_at_most_twice(board):
    def tried(*best):
        return values_to_try(
            board, board.entrants["dsgd"], [Chosen("tuned", "D1", "dsgd", {"algo.eta": v}) for v in best]
        )

    grid = [0.03, 0.1, 0.3, 1, 3, 10, 30]
    assert tried() == tried(1, 10) == grid
    assert tried(30) == tried(100) == [*grid, 100, 300]
    assert tried(1, 300) == tried(3000) == [*grid, 100, 300, 1000, 3000]
    assert tried(0.03) == [0.003, 0.01, *grid]
    tied = [Chosen("tuned", "D1", "dsgd", {"algo.eta": 30}, tied=True)]
    assert values_to_try(board, board.entrants["dsgd"], tied) == grid


@pytest.mark.parametrize(
    ("value", "up", "after"), [(30, True, 100), (0.1, True, 0.3), (0.03, False, 0.01), (1, False, 0.3)]
)
def test_next_value(value, up, after):
    assert next_value(value, up) == after


def test_the_quick_size_has_eight_methods_on_two_workloads_and_a_quarter_of_the_budget():
    quick = read(size="quick")
    found = cells(quick, "tune")
    assert {c.workload.name for c in found} == {"D1", "T2"}
    assert len([c for c in found if c.entrant.name in quick.entrants]) == 16
    assert cell(quick, "tune", "D1", "dsgd").blocks[0]["steps"] == 1000
    assert cell(quick, "tune", "D1", "dsgd").runs == 7


def test_sealed_workloads_depend_on_the_version_only(board):
    assert sealed(board, "one") == sealed(board, "one") != sealed(board, "other")
    drawn = sealed(board, "one")["Z1"].set
    assert 10 <= drawn["dataset.condition"] <= 1000
    assert drawn["nodes"] in (8, 16, 32)


def test_the_drawn_workloads_are_written_with_the_hash_of_their_version(small):
    for name in ("rules.md", "targets.csv", "chosen.csv"):
        (small / name).write_text("1", encoding="utf-8")
    board = read(small)
    written = yaml.safe_load(write_sealed(board).read_text("utf-8"))
    assert written["version"] == board.version()
    assert written["workloads"]["Z1"]["set"] == sealed(board, board.version())["Z1"].set
    (small / "precious").write_text("1", encoding="utf-8")
    (small / "sealed.yaml").unlink()
    (small / "sealed.yaml").symlink_to(small / "precious")
    write_sealed(board)
    assert (small / "precious").read_text("utf-8") == "1"


def test_the_hash_changes_with_every_frozen_file(small):
    board = read(small)
    with pytest.raises(UserError, match=r"rules\.md"):
        board.version()
    for name in ("rules.md", "targets.csv", "chosen.csv"):
        (small / name).write_text("1", encoding="utf-8")
    first = board.version()
    (small / "chosen.csv").write_text("2", encoding="utf-8")
    assert board.version() != first


def test_unknown_keys_and_phases_are_named(board):
    with pytest.raises(UserError, match="'etas'"):
        entrant("dsgd", {"stepsize": "eta", "etas": 1}, board.grids)
    with pytest.raises(UserError, match="'final'"):
        cells(board, "final")
    assert set(PHASES) == {"gate", "pilot", "dev", "tune", "hidden", "report", "sealed"}


def test_side_tables_are_tuned_and_reported_with_the_workloads(board):
    """Their grids are in the phase tune, so that no report seed is used before the settings are chosen."""
    chosen = [Chosen("tuned", "lossy", "dsgt", {"algo.schedule": "fixed", "algo.eta": 30.0})]
    (grid,) = cell(board, "tune", "lossy", "dsgt", chosen).blocks
    assert (max(grid["algo.eta"]), grid["seed"], grid["links"]) == (300, [0, 1, 2], "lossy")
    (settled,) = cell(board, "report", "lossy", "dsgt", chosen).blocks
    assert (settled["algo.eta"], settled["seed"], settled["links"]) == (30, list(range(100, 110)), "lossy")
    elsewhere = [one for one in cells(board, "report", chosen) if one.workload.name == "directed"]
    assert {one.entrant.name for one in elsewhere} == {"dnasa"}  # its native setting
