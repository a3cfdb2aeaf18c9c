"""Links to files and folders of the repository: each gets a page that shows it, so that the site is complete."""

from __future__ import annotations

import html
import posixpath
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes

ROOT = Path(__file__).resolve().parents[3]
HOME = {"README.md": "index", "docs/index.md": "index"}
"""Files whose content is on another page of the site."""
STYLES = ("pygments.css", "source.css")
SHOWN = 200_000
"""The largest file that is shown, in bytes."""


def setup(app: Any) -> None:
    app.connect("doctree-read", resolve)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("build-finished", write)


def linked(env: Any) -> dict[str, set[str]]:
    """Return the repository files to which each page links."""
    if not hasattr(env, "hearsay_sources"):
        env.hearsay_sources = {}
    found: dict[str, set[str]] = env.hearsay_sources
    return found


def purge(app: Any, env: Any, docname: str) -> None:
    linked(env).pop(docname, None)


def merge(app: Any, env: Any, docnames: set[str], other: Any) -> None:
    for docname in docnames:
        linked(env)[docname] = linked(other).get(docname, set())


def resolve(app: Any, doctree: Any) -> None:
    """Turn links to files that are no pages into links to the pages of these files.

    MyST warns about the links that remain, which lead nowhere.
    """
    docname = app.env.docname
    for link in list(doctree.findall(addnodes.pending_xref)):
        if link.get("reftype") != "myst" or link.get("refdomain") == "doc" or "#" in link["reftarget"][:1]:
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(docname), link["reftarget"].partition("#")[0]))
        path = link["reftarget"].lstrip("/") if link["reftarget"].startswith("/") else path
        if path.startswith("..") or not (ROOT / path).exists():
            continue
        if path not in HOME:
            linked(app.env).setdefault(docname, set()).add(path)
        target = app.builder.get_relative_uri(docname, HOME.get(path, page_of(path)))
        link.replace_self(nodes.reference("", "", *link.children, refuri=target, internal=True))


def page_of(path: str) -> str:
    """Return the page of a file, without the suffix: the file itself if it is a page for browsers."""
    return f"source/{path.removesuffix('.html')}"


def tracked(folder: str) -> list[str]:
    """Return the files of a folder that git tracks, relative to it; all files where there is no git."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT / folder, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.splitlines()
    return sorted(p.relative_to(ROOT / folder).as_posix() for p in (ROOT / folder).rglob("*") if p.is_file())


def write(app: Any, exception: Exception | None) -> None:
    """Write a page for every linked file, and for every linked folder and the files in it."""
    if exception is not None:
        return
    wanted = set().union(*linked(app.env).values())
    for folder in sorted(path for path in wanted if (ROOT / path).is_dir()):
        inside = [name for name in tracked(folder) if shown(ROOT / folder / name)]
        direct = [name for name in inside if "/" not in name]
        wanted |= {posixpath.join(folder, name) for name in direct}
        ends = [f"{name.removesuffix('.html')}.html" for name in direct]
        base = posixpath.basename(folder)
        links = [f'<a href="{base}/{end}">{html.escape(name)}</a>' for name, end in zip(direct, ends, strict=True)]
        items = [*links, *(html.escape(name) for name in inside if "/" in name)]
        put(app, folder, "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>")
    for file in sorted(path for path in wanted if (ROOT / path).is_file()):
        if file.endswith(".html"):
            copy(app, file)
            continue
        text = (ROOT / file).read_text(encoding="utf-8") if shown(ROOT / file) else "This file is not text, or large."
        put(app, file, app.builder.highlighter.highlight_block(text, language(file, text)))


def copy(app: Any, path: str) -> None:
    """Copy a page for browsers, such as that of the board."""
    out = Path(app.outdir, page_of(path) + ".html")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes((ROOT / path).read_bytes())


def put(app: Any, path: str, body: str) -> None:
    """Write the page of one file. It has no navigation, which would take most of the time of the build."""
    up = "../" * path.count("/") + "../"
    styles = "".join(f'<link rel="stylesheet" href="{up}_static/{name}">' for name in STYLES)
    out = Path(app.outdir, page_of(path) + ".html")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{html.escape(path)}</title>'
        f'{styles}</head><body class="source"><p><a href="{up}index.html">hearsay</a></p>'
        f"<h1>{html.escape(path)}</h1>{body}</body></html>",
        encoding="utf-8",
    )


def shown(file: Path) -> bool:
    """Return whether a file is text of a size that a page can show."""
    return file.is_file() and file.stat().st_size <= SHOWN and b"\0" not in file.read_bytes()[:4096]


def language(file: str, text: str) -> str:
    """Return the name by which Pygments knows the language of a file."""
    if text.startswith("#!") and "sh" in text.partition("\n")[0]:
        return "bash"
    try:
        return str(get_lexer_for_filename(file).aliases[0])
    except (ClassNotFound, IndexError):
        return "none"
