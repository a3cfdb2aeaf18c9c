"""Settings that would have no effect are rejected, and references use the values of their own run."""

import pytest

from bench.base.errors import UserError
from bench.base.renamed import setting
from bench.config.experiment import blocks_of
from bench.config.plan import of_command
from bench.config.source import Source


@pytest.fixture
def search(tmp_path):
    """Return a function that writes files of a user's folder, and the word that adds the folder."""

    def write(**files):
        for name, text in files.items():
            file = tmp_path / f"{name.replace('__', '/')}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return f"hydra.searchpath=[file://{tmp_path}]"

    return write


def test_a_sweep_rejects_a_mapping_that_would_replace_the_member():
    words = ["algo=dsgt", "algo={schedule:constant}"]
    (run,) = of_command(words, several=False)
    assert (run.algo.name, run.algo.options["schedule"]) == ("dsgt", "constant")
    with pytest.raises(UserError, match=r"algo=dsgt.* algo\.NAME=VALUE"):
        of_command([*words, "seed=0,1"])


@pytest.mark.parametrize("value", ["3", "${nodes}", "${oc.env:NOWHERE,3}"])
def test_rejects_settings_outside_a_global_experiment(value, search):
    outside = "# @package _global_\nsteps: 7\nalgo: {eta: 0.5}\n"
    word = search(experiment__mine=f"{outside}experiment:\n  blocks: [{{algo: dsgt, seed: '{value}'}}]\n")
    with pytest.raises(UserError, match=r"experiment=mine.*'algo', 'steps'"):
        of_command(["experiment=mine", word, "nodes=5"])


REFERENCES = {
    "{algo: dsgt, nodes: [4, 6], batch_size: '${nodes}'}": [4, 6],
    "{algo: dsgt, nodes: [4, 6], batch_size: ['${nodes}', 3]}": [4, 3, 6, 3],
    "{dataset: digits, steps: 3, batch_size: '${steps}'}": [3],
    "{topology: random, topology.p: 0.5, batch_size: '${oc.decode:\"${seed}\"}', seed: [2, 5]}": [2, 5],
    "{model: mlp, model.hidden: 9, batch_size: '${model.hidden}'}": [9],
    "{nodes: 5, batch_size: '${experiment.common.seed}'}": [7],
    "{nodes: 5, batch_size: '${experiment.common.steps}'}": [5],
    "{steps: '${oc.decode:\"[3,4]\"}', batch_size: '${steps}'}": [3, 4],
}


@pytest.mark.parametrize("block", REFERENCES)
def test_references_in_a_block_use_the_values_of_the_run(block, search):
    word = search(experiment__mine=f"common: {{seed: 7, steps: '${{nodes}}'}}\nblocks: [{block}]\n")
    assert [run.batch_size for run in of_command(["experiment=mine", word])] == REFERENCES[block]


def test_references_in_a_block_find_the_names_of_the_experiment_and_the_method(search):
    name = "'${hydra:runtime.choices.experiment}/${hydra:runtime.choices.algo}'"
    word = search(experiment__mine=f"blocks: [{{algo: [dsgt, dsgd], results: {name}}}]\n")
    assert [run.results for run in of_command(["experiment=mine", word])] == ["mine/dsgt", "mine/dsgd"]


@pytest.mark.parametrize("block", ["{algo: '${model.name}'}", "{steps: '${step}'}", "{steps: '${steps}'}"])
def test_rejects_references_that_cannot_be_resolved(block, search):
    word = search(experiment__mine=f"blocks: [{block}]\n")
    with pytest.raises(UserError, match=r"model\.name|step"):
        of_command(["experiment=mine", word])


def test_rejects_a_searchpath_that_repeats_a_file_of_conf(search, tmp_path):
    word = search(algo__dsgt="name: dsgt\neta: 7.5\n")
    with pytest.raises(UserError, match=rf"algo/dsgt\.yaml.*--config-path {tmp_path}"):
        of_command(["algo=dsgt", word])
    (run,) = of_command(["algo=dsgt", word], source=Source(main=tmp_path))
    assert run.algo.options["eta"] == 7.5


def test_rejects_two_searchpaths_with_files_of_the_same_name(search, tmp_path):
    search(one__experiment__mine="blocks: [{algo: dsgt}]\n", two__experiment__mine="blocks: [{algo: dsgd}]\n")
    with pytest.raises(UserError, match=r"experiment/mine\.yaml"):
        of_command(["experiment=mine", f"hydra.searchpath=[file://{tmp_path}/one,file://{tmp_path}/two]"])


@pytest.mark.parametrize("word", ["algo=[dsgt,dsgd]", "experiment=[a,b]", "algo=[dsgt,dsgd],dnasa"])
def test_rejects_a_list_of_members(word):
    group, _, names = word.partition("=")
    with pytest.raises(UserError, match=rf"-m and type {group}={names[1:].partition(']')[0]}\."):
        of_command([word])


def test_a_list_of_one_member_is_this_member():
    assert [run.algo.name for run in of_command(["algo=[dsgt]"])] == ["dsgt"]


@pytest.mark.parametrize("old", ["stretch", "regulariser", "dataset.standardise"])
def test_rejects_two_names_of_one_setting_in_a_block(old):
    with pytest.raises(UserError, match=rf"experiment=mine.*Remove '{old}'"):
        blocks_of({"blocks": [{old: 2, setting(old): 3}]}, "experiment=mine")


def mains(search, tmp_path, **files):
    search(**files)
    (run,) = of_command([], source=Source(name="mine", typed=(f"file://{tmp_path}",)))
    return run


REPLACED = [
    (
        {"mine": "defaults: [_self_, config, override dataset: synthetic]\ndataset: {evaluation: 77}\n"},
        r"mine\.yaml sets dataset\.evaluation",
    ),
    ({"mine": "defaults: [_self_, config]\nstretch: 2.0\n"}, r"mine\.yaml sets input_scale"),
    ({"mine": "defaults: [_self_, config]\nalgo: dsgt\n"}, r"mine\.yaml sets algo"),
    (
        {"base": "defaults: [_self_, config]\nsteps: 7\n", "mine": "defaults: [base, _self_]\nseed: 3\n"},
        r"base\.yaml.*steps",
    ),
    ({"base": "steps: 7\n", "mine": "defaults: [base, config, _self_]\n"}, r"base\.yaml sets steps"),
    (
        {"base": "hydra: {job: {chdir: true}}\n", "mine": "defaults: [config, base, _self_]\n"},
        r"base\.yaml.*hydra\.job",
    ),
]


@pytest.mark.parametrize(("files", "message"), REPLACED)
def test_rejects_main_files_whose_values_are_replaced(files, message, search, tmp_path):
    with pytest.raises(UserError, match=message):
        mains(search, tmp_path, **files)


def test_main_files_replace_the_values_that_they_inherit(search, tmp_path):
    base = "defaults: [config, override dataset: synthetic, _self_]\nsteps: 7\nnodes: 5\nstretch: 2.0\n"
    base += "dataset: {evaluation: 77}\n"
    more = "defaults: [base, override algo: dsgt, _self_]\nsteps: 9\nalgo: {eta: 0.5}\nbatch_size: ${nodes}\n"
    run = mains(search, tmp_path, base=base, mine=more)
    assert (run.steps, run.nodes, run.input_scale, run.batch_size) == (9, 5, 2.0, 5)
    assert (run.algo.options["eta"], run.dataset.options["evaluation"]) == (0.5, 77)


UNUSED = {
    "+hydra.sweeper.params={seed: '0,1'}": "-m seed=0,1,2",
    "+hydra.sweeper.params.seed=0,1": "-m seed=0,1,2",
    "hydra.mode=MULTIRUN": "-m",
    "hydra.run.dir=elsewhere": "results=FOLDER",
    "hydra.sweep.dir=elsewhere": "results=FOLDER",
    "hydra.job.chdir=true": "hydra.searchpath",
    "hydra/job_logging=disabled": "hydra.searchpath",
}


@pytest.mark.parametrize("word", UNUSED)
def test_rejects_settings_of_hydra_that_have_no_effect(word):
    with pytest.raises(UserError) as caught:
        of_command([word])
    assert word.lstrip("+").partition("=")[0] in str(caught.value)
    assert UNUSED[word] in str(caught.value)


def test_a_reference_may_use_a_setting_of_hydra():
    (run,) = of_command(["hydra.job.name=mine", "results=${hydra:job.name}"])
    assert run.results == "mine"


def test_rejects_a_group_of_ones_own_that_sets_what_the_experiment_sets(search):
    big = "# @package _global_\nsteps: 900\nbatch_size: 9\ntopology: {name: complete}\n"
    word = search(setup__big=big, experiment__mine="blocks: [{algo: dsgt, steps: 3, topology: ring}]\n")
    with pytest.raises(UserError, match=r"\+setup=big and experiment=mine.*'(steps|topology)'"):
        of_command(["experiment=mine", "+setup=big", word])
    search(setup__big="# @package _global_\nsteps: 900\nbatch_size: 9\n")
    (run,) = of_command(["experiment=mine", "+setup=big", "steps=7", word])
    assert (run.steps, run.batch_size, run.topology.name) == (7, 9, "ring")
