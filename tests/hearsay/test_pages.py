"""The page and the notebook about the Python interface: every block is executed."""

import re

import nbformat
import pytest
from nbclient import NotebookClient

from bench.base.registry import algorithms
from tests.helpers.cli import ROOT, python

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(kind):
    text = (ROOT / "docs/python.md").read_text("utf-8")
    return [code for found, code in BLOCK.findall(text) if found == kind]


@pytest.mark.thorough
def test_every_python_block_of_the_page_runs(tmp_path):
    code = []
    for block in blocks("python"):
        if file := re.match(r"# file: (\S+)\n", block):
            (tmp_path / file[1]).write_text(block, encoding="utf-8")
        else:
            code.append(block)
    code.append(
        "print(set(everything['run_id']) == {*runs['run_id'], *tuned['run_id']}, set(both['state']), len(methods))"
    )
    (tmp_path / "page.py").write_text("\n".join(code), encoding="utf-8")
    done = python(str(tmp_path / "page.py"), cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"True {{'done'}} {len(list(algorithms))}"
    assert "There is no algo called 'dnas'. Did you mean 'dnasa'?" in done.stdout
    assert (tmp_path / "compare.pdf").stat().st_size > 1000


def test_the_bash_block_of_the_page_is_that_of_the_help():
    """test_completion.py types what the script completes."""
    from hearsay import completion

    (block,) = blocks("bash")
    assert block.splitlines()[-1] in (line.strip() for line in (completion.__doc__ or "").splitlines())


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_the_notebook_runs(tmp_path):
    """A method of a cell is computed beside a baseline, and figures appear below their cells."""
    notebook = nbformat.read(ROOT / "examples/first_sweep.ipynb", as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 2
    assert [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"] == []
    names = {path.name.split("-")[0] for path in (tmp_path / "results/runs").iterdir() if path.is_dir()}
    assert names == {"dnasa", "dsgt", "dsgd", "mine"}
    (module,) = (tmp_path / "results/cells").glob("*.py")
    assert "sweep" not in module.read_text("utf-8")
