"""The generated pages: one for each method, graph, dataset, model, compressor and network, and a table of each kind."""

from collections.abc import Iterator

from hearsay_site.pages import code, graphs, methods, other

KINDS = (methods, graphs, other, code)


def generated() -> Iterator[tuple[str, str]]:
    """Yield the path and the Markdown of every generated page."""
    for kind in KINDS:
        yield from kind.pages()
