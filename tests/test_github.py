"""The files for GitHub: rights of the workflow, pinned actions, and templates that name existing files."""

import re

import yaml

from tests.helpers.cli import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RIGHTS = {"checks": {"contents": "read"}, "publish": {"pages": "write", "id-token": "write"}}


def test_actions_are_pinned_by_commit_and_name_their_version():
    lines = [line for file in WORKFLOWS for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert re.search(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_jobs_have_the_least_rights():
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {}
        assert {name: job["permissions"] for name, job in workflow["jobs"].items()} == RIGHTS
        assert "secrets." not in file.read_text(encoding="utf-8")
        checkout, *_ = workflow["jobs"]["checks"]["steps"]
        assert checkout["with"] == {"persist-credentials": False}


def test_the_site_is_published_only_from_main():
    (file,) = WORKFLOWS
    jobs = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]
    only = "github.ref == 'refs/heads/main'"
    assert jobs["publish"]["if"] == only
    assert [step["if"] for step in jobs["checks"]["steps"] if "pages" in step.get("uses", "")] == [only]
    assert {"run": ".ci/run"} in jobs["checks"]["steps"]


def test_templates_are_complete():
    for file in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(file.read_text(encoding="utf-8"))
        if file.name != "config.yml":
            assert {"name", "description", "body"} <= set(form), file
            assert len({field["id"] for field in form["body"]}) == len(form["body"]), file
            assert all(field["attributes"]["label"] for field in form["body"]), file
    template = (ROOT / ".github/pull_request_template.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./]+/[\w./]*)`", template)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
