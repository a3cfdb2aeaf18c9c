"""The runs that a command line stands for."""

from bench.config.source import Source
from bench.sweep.gather import sweep_name


def test_a_sweep_is_called_what_was_typed():
    assert sweep_name(["experiment=example"]) == "example"
    assert sweep_name(["experiment=example", "results=here", "tracker=none"]) == "example"
    assert sweep_name(["experiment=example", "dataset=digits", "results=here"]) == "experiment=example dataset=digits"
    assert sweep_name(["-m", "algo=dsgd,dsgt"]) == "algo=dsgd,dsgt"
    assert sweep_name([]) == "defaults"
    typed = Source(flags=("--config-dir", "my conf"))
    assert sweep_name(["experiment=mine"], typed) == "--config-dir 'my conf' experiment=mine"
    assert sweep_name(["results=here"], typed) == "--config-dir 'my conf'"
    assert sweep_name(["hydra/launcher=x", "n=f(1)"]) == "'n=f(1)'"
