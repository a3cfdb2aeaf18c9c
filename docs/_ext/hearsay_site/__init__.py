"""The documentation site: pages that are generated, and the parts of Sphinx that it adds."""

from typing import Any

from hearsay_site import mathml, sources


def setup(app: Any) -> dict[str, bool]:
    """Register the extensions of Sphinx."""
    mathml.setup(app)
    sources.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
