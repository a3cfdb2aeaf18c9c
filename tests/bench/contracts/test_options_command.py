"""contract.py NAME algo.OPTION=VALUE: the promises of a method with other options than its defaults, as typed."""

import pytest

from bench import contract
from bench.base.registry import algorithms
from bench.contracts.fixtures import stepsizes, with_options


@pytest.fixture
def first_check_only(monkeypatch):
    """The promises themselves are tested elsewhere."""
    monkeypatch.setattr(contract.of_methods, "CHECKS", contract.of_methods.CHECKS[:1])
    monkeypatch.setattr(contract.of_compressors, "CHECKS", contract.of_compressors.CHECKS[:1])


def test_options_take_the_place_of_defaults_of_every_kind():
    cls = with_options(algorithms["dnasa"], {"normalize": "tensor", "schedule": "constant", "multiplier": 0.5})
    assert cls.declare_for({}).bounded_step is False
    assert algorithms["dnasa"].declare_for({}).bounded_step is True
    assert stepsizes(cls, 3)["eta"].values[:, 0].tolist() == [0.5] * 3


def test_a_property_that_only_an_option_violates(capsys, monkeypatch):
    """The command tries the method with the options that were typed."""
    monkeypatch.setattr(contract.of_methods, "CHECKS", (counts := contract.of_methods.CHECKS[3],))
    assert "sent" in counts.__doc__
    assert contract.main(["dsgd", "algo.gossip=twice"]) == 0
    monkeypatch.setattr(algorithms["dsgd"], "declare", classmethod(lambda cls, **options: cls.properties))
    assert contract.main(["dsgd", "algo.gossip=once"]) == 0
    assert contract.main(["dsgd", "algo.gossip=twice"]) == 1
    assert "dsgd algo.gossip=twice\n" in capsys.readouterr().out


@pytest.mark.usefixtures("first_check_only")
def test_several_options_of_several_methods_on_both_sides_of_the_names(capsys):
    words = ["algo.schedule=fixed", "dsgd", "compressor.unbiased=true", "algo.eta=0.5", "random_k", "dsgt"]
    assert contract.main(words) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    method = "algo.schedule=fixed algo.eta=0.5"
    assert heads == [f"dsgd {method}", f"dsgt {method}", "random_k compressor.unbiased=true"]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("dnasa algo.normalyze=tensor", "'algo.normalyze'. Did you mean 'normalize'?"),
        ("dsgd dnasa algo.eta=1", "'algo.eta'. Known: alpha, average"),
        ("dsgd algo.name=dsgt", "'algo.name'"),
        ("top_k compressor.name=qsgd", "'compressor.name'"),
        ("dnasa algo.normalize=rows", "'rows'"),
        ("dsgd algo.eta=-1", "got -1"),
        ("dsgd algo.eta=0.1,0.2", "algo.eta=0.1,0.2"),
        ("dsgd algo.eta=[", "'algo.eta=['"),
        ("dsgd algo.gossip=twice algo.order=combine_then_adapt", "gossip"),
        ("dsgd steps=5", "'steps=5'"),
        ("algo.eta=1", "dsgd algo.eta=1"),
        ("dsgd compressor.k=3", "top_k compressor.k=3"),
    ],
)
def test_rejects_invalid_options_before_the_first_check(words, value, capsys):
    assert contract.main(words.split()) == 2
    out, errors = capsys.readouterr()
    assert out == ""
    assert value in errors
