import pytest

from bench.base import imported, registry
from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.registry import (
    Registry,
    algorithms,
    broken_plugins,
    datasets,
    discover,
    models,
    no_such,
    topologies,
    weight_rules,
)


def test_finds_the_modules_of_the_suite():
    assert {"dsgd", "dsgt", "dasagt", "dnasa", "d2"} <= set(algorithms)
    assert {"ring", "random", "ladder", "complete"} <= set(topologies)
    assert {"uniform", "max_degree", "metropolis", "laplacian"} <= set(weight_rules)
    assert {"synthetic", "spike", "quadratics"} <= set(datasets)
    assert {"linear", "mlp", "cnn", "lenet", "resnet20", "transformer", "module"} <= set(models)


def test_rejects_duplicate_names_and_names_both_items():
    registry: Registry = Registry("thing")

    @registry.register("one")
    def first(): ...

    with pytest.raises(UserError, match=r"'one' .*first.*second"):

        @registry.register("one")
        def second(): ...


def test_rejects_unknown_names_with_the_closest_name_or_with_all_names_and_how_to_add_one():
    with pytest.raises(UserError, match=r"'dnaas'\. [^']*'dnasa'\?$"):
        algorithms["dnaas"]
    with pytest.raises(UserError, match=rf"'xyz'\..* {', '.join(algorithms)}\. .*HEARSAY_PLUGINS=mine .*mine\.py"):
        algorithms["xyz"]


def test_names_that_no_plugin_can_add_have_no_remedy_with_plugins():
    assert no_such("column", "xyz", ["step"]).endswith(" step.")


def test_a_plugin_that_cannot_be_imported_is_the_only_remedy(monkeypatch):
    discover()
    monkeypatch.setitem(broken_plugins, "mine", "SyntaxError")
    message = no_such("algo", "xyz", algorithms)
    assert "'mine'" in message
    assert "HEARSAY_PLUGINS" not in message


def test_rejects_an_edit_between_hash_and_import(monkeypatch):
    """Which version computes is unknown then, and the hash would be that of the other one."""
    file = ROOT / "algorithms" / "dsgd.py"
    monkeypatch.setitem(imported._digests, file, "0" * 64)
    with pytest.raises(UserError, match=r"^algorithms/dsgd\.py "):
        registry._import_all()


def test_the_hash_of_a_plugin_and_of_what_it_imports_is_that_of_its_import(tmp_path, monkeypatch):
    (tmp_path / "plugin_of_a_test.py").write_text("import helper_of_a_test\nimport colorsys\n")
    (tmp_path / "helper_of_a_test.py").write_text("FACTOR = 1\n")
    files = [tmp_path / f"{name}_of_a_test.py" for name in ("plugin", "helper")]
    before = [imported.sha256(file) for file in files]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(imported, "_outside", {})
    monkeypatch.setenv(registry.MODULES, "plugin_of_a_test")
    monkeypatch.setattr(registry, "HOME", ())
    registry._import_all()
    assert set(imported._outside) == set(files)  # and no library
    for file in files:
        file.write_text("FACTOR = 2\n")
    assert [imported.digest(file) for file in files] == before
