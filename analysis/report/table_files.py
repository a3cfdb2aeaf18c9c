"""Tables as Markdown, LaTeX and CSV files."""

from dataclasses import replace
from pathlib import Path

from analysis.results.errors import NoData, trouble
from analysis.results.results import Results
from analysis.results.warnings import mixed_note
from analysis.results.wording import many
from analysis.study.figure_options import FigureOptions
from analysis.tables import Table, TableMaker
from analysis.tables import format as words
from analysis.tables.digits import in_digits
from analysis.tables.format import DIFFERENCE
from analysis.tables.latex import latex, left_out_in_words, page
from bench.store.files import write_text
from bench.terminal.visible import in_line


def make_table(recipe: TableMaker, results: Results, request: FigureOptions, out: Path) -> tuple[str, bool | None]:
    """Write one table. Return a message, and whether it was written; None if its function failed."""
    try:
        whole, messages = recipe.table(results, request), []
        try:
            table = words.chosen(whole, request.columns, results)
        except NoData as error:
            if recipe.ours:
                raise
            table, messages = whole, [f"{'':15} {in_line(str(error))} (ignored options: --columns)"]
    except NoData as error:
        return f"{recipe.name:15} not made: {in_line(str(error))}", False
    except Exception as error:  # a plug-in may raise anything; the other tables are still made
        return f"{recipe.name:15} not made: {trouble(error, recipe.make)}", None
    table = replace(table, notes=[*table.notes, *mixed_note(results, results.runs)])
    try:
        texts = {
            "md": words.markdown(in_digits(table), table.title or recipe.title),
            "tex": latex(table, table.title or recipe.title),
            "csv": words.csv(table.data),
        }
    except (ValueError, ArithmeticError, MemoryError) as error:  # values that a table cannot show, as in a figure
        return f"{recipe.name:15} not made: {trouble(error, recipe.make)}", None
    for kind, text in texts.items():
        write_text(out / f"table_{recipe.name}.{kind}", text)
    if "reference" in table.data and request.reference and (why := no_difference(table)):
        messages.append(f"{'':15} --reference {request.reference} has no effect: {why}")
    if (fits := page(table)).left_out:
        messages.append(f"{'':15} in .tex {in_line(left_out_in_words(fits))}")
    return "\n".join(
        [f"{recipe.name:15} {many(len(table.data), 'row')} → table_{recipe.name}.md, .tex, .csv", *messages]
    ), True


def no_difference(table: Table) -> str:
    """Return why the table shows no difference from the reference; empty if it shows one."""
    if "reference_minus" not in table.data or table.data["reference_minus"].isna().all():
        return "no other method has a run with a value on the same problem and seed"
    if table.asked and not any(DIFFERENCE in name for name in table.asked):
        return "--columns does not select the differences; add 'difference'"
    return ""
