"""Pack the results of many runs into an archive of three files.

The analysis commands read an archive like a results folder. Logs and
configurations are not packed, nor are runs that have not ended; the command
names those. With several sources, the first one in which a run has ended
provides it, or a later one that has the same results and more metrics of it.
The command names runs whose results differ between sources. It does not replace
an archive that cannot be read, or that has other runs, other results or more
metrics, unless this archive is a source, too.

Examples:
  python analysis/archive.py results archive
  python analysis/archive.py results other_results archive
  python analysis/archive.py results small --metrics node_loss,suboptimality
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()


from analysis.results.archive import FACTS, ROWS, RUNS, check_target, read_archive, write_archive
from analysis.results.duplicates import contradicting, different, together
from analysis.results.errors import NoData, in_sentences
from analysis.results.fewer import with_metrics
from analysis.results.results import Results
from analysis.results.warnings import unreadable
from analysis.results.wording import many
from bench.base.errors import UserError
from bench.store.record import FINAL
from bench.store.regular import content_of
from bench.terminal.command import say
from bench.terminal.visible import in_line


@in_sentences("Nothing to pack")
def main(argv: Sequence[str] | None = None) -> int:
    from analysis.results.read import read

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sources = "results folders, archives, or wandb:ENTITY/PROJECT"
    parser.add_argument("results", nargs="+", metavar="SOURCE", help=sources)
    parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="folder to write the archive to")
    about = "keep these metrics and the counts only, such as node_loss,suboptimality (default: all)"
    parser.add_argument("--metrics", metavar="NAME,…", help=about)
    arguments = parser.parse_args(argv)
    check_target(arguments.archive)
    before = _facts(arguments.archive)
    parts = [read(one) for one in arguments.results]
    results = together(parts)
    for sentence in unreadable(results):  # copies and mixed versions are packed, and reported to their readers
        say(sentence)
    if differ := contradicting(parts):
        say(
            f"Runs with other results in a later source: {_some(differ)} ({len(differ)} in all). "
            "Using the results of the first source."
        )
    unended = results.runs[~results.runs["state"].isin(FINAL)]
    if len(unended):
        names = [f"{run} ({state})" for run, state in zip(unended["run_id"], unended["state"], strict=True)]
        say(in_line(f"Not packing {many(len(names), 'run')} that did not end: {_some(names)}."))
    bare = results.runs.loc[results.runs["state"].isin(FINAL), "run_id"]
    bare = bare[~bare.isin(results.rows["run_id"])]
    if len(bare):
        say(f"Not packing {many(len(bare), 'run')} without evaluations: {_some([*bare])}.")
    made = with_metrics(results, arguments.metrics.split(",")) if arguments.metrics else results
    is_source = arguments.archive.resolve() in [Path(one).resolve() for one in arguments.results]
    if lost := _lost(arguments.archive, made, is_source, is_source and arguments.metrics is not None):
        raise UserError(
            f"{arguments.archive} is an archive with {many(len(lost), 'run')} that the new one would not have, or not "
            f"with these results and metrics: {_some(lost)}. Type it as the last source, too, or type another ARCHIVE."
        )

    def unchanged() -> None:
        if _facts(arguments.archive) != before:
            raise UserError(f"Another command has changed {arguments.archive} since this one began. Repeat this one.")

    write_archive(made, arguments.archive, unchanged)
    size = sum(path.stat().st_size for path in arguments.archive.iterdir() if path.is_file())
    say(
        f"{many(len(results.runs) - len(unended) - len(bare), 'run')}, {size / 1e6:.1f} MB: {arguments.archive}",
        sys.stdout,
    )
    return 0


def _facts(archive: Path) -> bytes | None:
    """Return the file of an archive that has the digests of the others; None if it is missing or cannot be read."""
    with suppress(OSError):
        return content_of(archive / FACTS)
    return None


def _lost(archive: Path, results: Results, is_source: bool, reduced: bool) -> list[str]:
    """Return the runs of an existing archive that a new one in its place would not have.

    These are also runs with other results, unless the archive is a source of the new one, and runs with fewer metrics,
    unless they are to be ``reduced``.

    Raises:
        UserError: The archive cannot be read, as after an interrupted update or without the permission.
    """
    if not any(os.path.lexists(archive / name) for name in (RUNS, ROWS, FACTS)):
        return []
    try:
        before = read_archive(archive)
    except NoData as error:
        raise UserError(
            f"{archive} is not replaced, since its runs cannot be read: {error}. Repair or delete it, or type another "
            "ARCHIVE."
        ) from error
    ended = {*results.runs.loc[results.runs["state"].isin(FINAL), "run_id"]}
    other = different([results, before])
    if not is_source and not other:
        other = {*contradicting([results, before])}
    if not reduced:
        had, has = (part.rows.set_index("run_id").notna().groupby(level=0).any() for part in (before, results))
        fewer = had & ~has.reindex(index=had.index, columns=had.columns, fill_value=False)
        other |= {*fewer.index[fewer.any(axis=1)]}
    return [str(run) for run in (*before.runs["run_id"], *before.unreadable) if run not in ended or run in other]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + " …" * (len(names) > 20)


if __name__ == "__main__":
    sys.exit(main())
