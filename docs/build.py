"""Build the documentation site into build/site. It needs no network.

Warnings are errors: links, headings and files to which pages link must exist.

Examples:
  python docs/build.py
  python docs/build.py --out /tmp/site
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:1] = [str(ROOT), str(ROOT / "docs/_ext")]

from sphinx.cmd.build import build_main  # noqa: E402

from hearsay_site.collect import collect  # noqa: E402
from hearsay_site.llms import llms_txt  # noqa: E402


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build/site", help="folder of the site (default: build/site)"
    )
    given = parser.parse_args(argv)
    begin = time.monotonic()
    source = given.out.with_name(given.out.name + "-source")
    collect(source)
    print(f"Collected the pages in {time.monotonic() - begin:.1f} s", flush=True)
    doctrees = str(given.out.with_name(given.out.name + "-doctrees"))
    words = ["-a", "-q", "-W", "--keep-going", "-j", "auto", "-c", str(ROOT / "docs"), "-d", doctrees]
    code = build_main([*words, str(source), str(given.out)])
    (given.out / "llms.txt").write_text(llms_txt(source), encoding="utf-8")
    print(f"Site: {given.out / 'index.html'} ({time.monotonic() - begin:.1f} s)")
    return code


if __name__ == "__main__":
    sys.exit(main())
