"""Register the figures, tables, statistics and claims of the paper with ``analysis``, and the style of its method."""

import importlib
import pkgutil

from analysis.claims.sets import register
from analysis.drawing.palette import row_of_looks
from analysis.drawing.style import STYLES, Style
from analysis.results.labels import put_first
from reproduction import evidence, figures, tables
from reproduction.document import SET

for package in (evidence, figures, tables):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")

METHOD, LABEL = "dnasa", "D-NASA"
color, dash, marker = row_of_looks(0)[1]
STYLES[METHOD] = Style(LABEL, color, marker, dash)
put_first(METHOD, LABEL)
register(SET)
