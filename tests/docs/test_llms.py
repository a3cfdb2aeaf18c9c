"""The list of pages for language models."""

import re

import pytest

from hearsay_site.llms import describe, llms_txt
from tests.helpers.cli import ROOT

INDEX = """# Suite

A **suite** for tests. It has pages.

```{toctree}
:caption: Start
:hidden:

/docs/start
```

```{toctree}
:caption: Project
:hidden:

All changes </CHANGES>
```
"""
PAGES = {
    "index.md": INDEX,
    "docs/start.md": "# Tutorial\n\n[All](x.md) in ten\nminutes. Then more.\n\n## Install\n",
    "CHANGES.md": "# Changes\n\n| a | b |\n|---|---|\n\n## 0.2\n\nText.\n\n## 0.1\n",
    "catalog/one.md": "---\norphan: true\n---\n\n# One\n\nOne of Li et al. 2024. hearsay has it.\n",
}


def test_lists_the_table_of_contents_and_then_the_other_pages(tmp_path):
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert llms_txt(tmp_path).splitlines() == [
        *("# Suite", "", "> A suite for tests.", ""),
        *("## Start", "", "- [Tutorial](docs/start.html): All in ten minutes.", ""),
        *("## Project", "", "- [Changes](CHANGES.html): 0.2, 0.1", ""),
        *("## Optional", "", "- [One](catalog/one.html): One of Li et al. 2024."),
    ]


def test_rejects_a_page_of_the_table_of_contents_that_does_not_exist(tmp_path):
    (tmp_path / "index.md").write_text(INDEX, encoding="utf-8")
    with pytest.raises(FileNotFoundError):
        llms_txt(tmp_path)


def test_every_page_has_a_description_of_one_line():
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
        about = describe(page.read_text(encoding="utf-8"))
        assert about, page
        assert not re.search(r"\n|\]\(|\*\*", about), page
        assert len(about) < 400, page
