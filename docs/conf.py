"""Settings of Sphinx. ``docs/build.py`` collects the pages and starts Sphinx."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs/_ext")]

from bench import __version__  # noqa: E402

project = "hearsay"
author = "the authors of hearsay"
copyright = author
version = release = __version__
extensions = ["myst_parser", "hearsay_site"]
root_doc = "index"
html_theme = "furo"
html_title = "hearsay"
html_static_path = [str(ROOT / "docs/_static")]
html_css_files = ["site.css"]
html_js_files = ["tables.js"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True}
templates_path: list[str] = []
pygments_style = "tango"
pygments_dark_style = "monokai"
highlight_language = "none"
myst_enable_extensions = ["dollarmath", "html_image", "colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nitpicky = True
