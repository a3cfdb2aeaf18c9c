"""Check that methods and compressors have the properties they declare.

Prints PASS, FAIL (with the reason) or SKIP (the property is not declared) for
each check. If the code raises an error, prints its line and runs no other
check. The exit code is 1 if a check fails. Without names, checks everything
that is registered, plug-ins included.

Examples:
  python bench/contract.py dnasa
  python bench/contract.py dnasa algo.normalize=tensor algo.schedule=fixed
  python bench/contract.py top_k compressor.k=3
  python bench/contract.py nesterov --literal my_rule.py:my_rule
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base.authors import blamed
from bench.base.errors import UserError
from bench.base.options import coerce
from bench.base.registry import algorithms, compressors, no_such, say_broken_plugins
from bench.config.choices import REGISTRIES, options_of
from bench.config.compose import options_typed
from bench.config.run_config import meant
from bench.contracts import compressors as of_compressors
from bench.contracts import methods as of_methods
from bench.contracts.fixtures import Malformed, with_options
from bench.contracts.literal import literal, load
from bench.contracts.methods import SKIP, CheckFailed
from bench.terminal.command import command, say
from bench.terminal.parser import command_parser

PASS, FAIL = "PASS", "FAIL"
KINDS = {"algo": ("method", "dsgd"), "compressor": ("compressor", "top_k")}
"""Groups whose members can be checked: the word for a member, and an example."""
Checks = Sequence[Callable[[Any], str | None]]


@command
def main(argv: Sequence[str] | None = None) -> int:
    parser = command_parser(__doc__)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="NAME",
        help="names of methods and compressors, and their options (default: all methods and compressors)",
    )
    parser.add_argument(
        "--literal",
        metavar="FILE:FUNCTION",
        help="also compare the method with a rule written in NumPy (see CONTRIBUTING.md)",
    )
    given = parser.parse_intermixed_args(argv)
    names, settings = ([word for word in given.words if ("=" in word) == is_set] for is_set in (False, True))
    say_broken_plugins()
    for name in names:
        if name not in algorithms and name not in compressors:
            raise UserError(no_such("algorithm or compressor", name, {*algorithms, *compressors}))
    more: Checks = ()
    if given.literal:
        if len(names) != 1 or names[0] not in algorithms:
            raise UserError(f"--literal {given.literal} needs the name of exactly one method, got {names}.")
        if algorithms[names[0]].properties.asynchronous:
            raise UserError(f"--literal compares steps of all nodes, but {names[0]} is asynchronous. Remove --literal.")
        more = (literal(load(given.literal), given.literal),)
    todo: list[tuple[Checks, str, Any]] = [
        *(((*of_methods.checks_of(cls), *more), name, cls) for name, cls in _chosen("algo", names, settings)),
        *((of_compressors.CHECKS, *each) for each in _chosen("compressor", names, settings)),
    ]
    failed = 0
    for checks, name, cls in todo:
        results = _results(cls, checks)
        counts, left = Counter(result for result, _, _ in results), len(checks) - len(results)
        failed += counts[FAIL]
        summary = f"{name:18} {counts[PASS]} passed, {counts[SKIP]} skipped, {counts[FAIL]} failed"
        print(name if names else summary + f", {left} not run" * bool(left))
        for result, description, reasons in results:
            if names or result == FAIL:
                say(f"  {result:6}{description}", sys.stdout, indent=8)
            for reason in reasons:
                say(f"{'':8}{reason}", sys.stdout, indent=8)
        if left and names:
            say(f"  The other {left} of {len(checks)} checks were not run: correct this first.", sys.stdout, indent=2)
    return 1 if failed else 0


def _chosen(group: str, names: Sequence[str], settings: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the named members of a group (default: all), with the typed options as their defaults."""
    typed = {key.partition(".")[2]: value for key, value in options_typed(settings, KINDS, group).items()}
    words = [word for word in settings if word.startswith(f"{group}.")]
    chosen = [name for name in names or REGISTRIES[group] if name in REGISTRIES[group]]
    if typed and not (names and chosen):
        kind, example = KINDS[group]
        raise UserError(f"{words[0]} needs the name of a {kind}. Type python bench/contract.py {example} {words[0]}.")
    for name in chosen:
        cls = REGISTRIES[group][name]
        if typed:
            known = coerce(options_of(group, name), typed, f"{group}.", f"{group}={name}", meant)
            cls = with_options(cls, {option: known[option] for option in typed})
        yield " ".join([name, *words]), cls


def _results(cls: Any, checks: Checks) -> list[tuple[str, str, list[str]]]:
    """Return PASS, SKIP or FAIL of each check, its description, and the reasons if it failed.

    The checks end with the first one in which the code raises an error or a state cannot be read: in all others, the
    same would happen.
    """
    results: list[tuple[str, str, list[str]]] = []
    for check in checks:
        description = " ".join((check.__doc__ or check.__name__).split())
        try:
            results.append((check(cls) or PASS, description, []))
        except CheckFailed as error:
            results.append((FAIL, description, [str(error)]))
            if isinstance(error, Malformed):
                break
        except Exception as error:  # a plug-in may raise anything
            results.append((FAIL, description, [f"{type(error).__name__}: {error}", *blamed(error, cls)]))
            break
    return results


if __name__ == "__main__":
    sys.exit(main())
