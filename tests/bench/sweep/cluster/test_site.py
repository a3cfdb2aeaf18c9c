"""What a cluster is asked for: a file per cluster, and a sentence for what is wrong in it."""

import pytest

from bench.base.errors import UserError
from bench.config.plan import of_command as runs_of
from bench.sweep.cluster.site import Site, of_command
from tests.helpers.cli import ROOT, typed
from tests.helpers.mentions import mentions


def test_a_site_is_a_file_and_what_is_typed_on_top_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "partition: fast\ntime: 12:00:00\ncpus: 8\ngpus: 1\nmemory: 16G\naccount: null\n"
        "setup:\n  - module load gcc\n  - ulimit -c 0\noptions: --exclusive\n"
    )
    words, site = of_command(["algo=dsgt", "site=mine.yaml", "seed=0,1", "site.cpus=2", "site.qos=low"])
    assert words == ["algo=dsgt", "seed=0,1"]
    assert site == Site(
        partition="fast",
        time="12:00:00",  # for YAML 1.1 that is the number 43200
        cpus=2,
        gpus=1,
        memory="16G",
        qos="low",
        setup=["module load gcc", "ulimit -c 0"],
        options=["--exclusive"],
    )
    assert site.bytes() == 16 * 2**30
    assert site.words() == [
        *("--partition=fast", "--qos=low", "--time=12:00:00", "--cpus-per-task=2", "--gres=gpu:1", "--mem=16G"),
        *("--signal=B:USR1@60", "--exclusive"),
    ]


def test_without_one_the_cluster_decides_and_the_example_is_one():
    assert of_command(["seed=1"])[1] == Site()
    site = of_command(["site=example"])[1]
    assert (site.time, site.cpus, site.memory, site.partition) == ("2:00:00", 4, "8G", None)
    text = (ROOT / "conf/site/example.yaml").read_text(encoding="utf-8")
    assert all(f"\n{key}:" in text for key in Site.__annotations__)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("site=nowhere", "'nowhere'.*example"),
        ("site.partitio=a", "site.partitio.*'partition'"),
        ("site.cpus=many", "site.cpus.*'many'"),
        ("site.cpus=0", "site.cpus.*1.*0"),
        ("site.memory=lots", "site.memory.*'lots'"),
        ("site.options=[a", r"site.options=\[a"),
        ("site.time=soon", "site.time.*'soon'"),
    ],
)
def test_rejects_invalid_sites(word, named):
    with pytest.raises(UserError, match=named):
        of_command([word])


def test_a_file_that_is_no_site(tmp_path):
    levels = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 9))
    for content in (b"- a\n", b"a: [\n", b"a: \xff\n", b"[" * 5000, f"a0: &a0 [1]\n{levels}setup: *a8\n".encode()):
        (tmp_path / "my.yaml").write_bytes(content)
        with pytest.raises(UserError, match=r"my\.yaml"):
            of_command([f"site={tmp_path / 'my.yaml'}"])


def test_it_is_no_setting_of_a_run():
    with pytest.raises(UserError, match="site"):
        runs_of(["site=example"])


def test_what_submit_cannot_do_is_said(tmp_path):
    bare = {"PATH": str(tmp_path), "WANDB_MODE": "disabled"}
    for words, sentence in [
        ((), "Add workers=8"),
        (("--work",), "--work"),
        (("workers=none",), "'none'"),
        (("workers=2", "hydra/launcher=slurm"), "hydra/launcher=slurm is not supported"),
        (("workers=2", "steps=20", "engine=stacked"), "There is no 'sbatch' on this machine"),
    ]:
        done = typed(*words, script="bench/submit.py", cwd=tmp_path, environment=bare)
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
        assert not list(tmp_path.glob("results/queue/*"))


def test_a_dry_run_needs_no_slurm(tmp_path):
    """Without its commands, and with commands that find no configuration: as on a laptop."""
    words = ("seed=0,1", "--dry-run", "steps=20", "engine=stacked", "tracker=none")
    (tools := tmp_path / "bin").mkdir()
    environment = {"PATH": str(tools), "WANDB_MODE": "disabled"}
    bare = typed(*words, script="bench/submit.py", cwd=tmp_path, environment=environment)
    assert bare.returncode == 0, bare.stderr
    values = ("2 to", "1 group", "1 worker", "--signal=B:USR1@60", "conf/site/default.yaml", "workers=1 ", "'sbatch'")
    assert mentions(bare.stdout, *values)
    (tools / "sbatch").write_text("#!/bin/sh\necho 'fatal: Could not establish a configuration source' >&2\nexit 1\n")
    (tools / "sbatch").chmod(0o755)
    lost = typed(*words, "workers=3", "site.cpus=2", script="bench/submit.py", cwd=tmp_path, environment=environment)
    assert (lost.returncode, lost.stderr) == (0, "")
    assert "sbatch says: fatal: " in lost.stdout
    assert "default" not in lost.stdout
    assert not (tmp_path / "results").exists()
