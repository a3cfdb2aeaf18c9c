"""A page in a real Chromium without a window."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--window-size=1400,1000", "--virtual-time-budget=10000", "--dump-dom",
)  # fmt: skip
FRAME = """<!doctype html><meta name="color-scheme" content="light dark"><pre id="answer"></pre>
<script>onmessage = (event) => document.getElementById("answer").append(JSON.stringify(event.data))</script>
<iframe src="page.html" style="border: 0; width: {width}px; height: 900px"></iframe>"""
"""A window is never narrower than 500 pixels, a frame may be."""
ASK = """<script>(async () => {{ {script} }})()
.then((value) => parent.postMessage({{ value }}, "*"), (error) => parent.postMessage({{ error: String(error) }}, "*"))
</script>"""


def find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def look(page: Path, script: str, place: Path, width: int = 1280, dark: bool = False) -> tuple[Any, list[str]]:
    """Open a page and run JavaScript at its end.

    Args:
        page: The page, which is copied.
        script: The body of an asynchronous function.
        place: An empty folder for the copy and the browser's profile.
        width: Of the page, in pixels.
        dark: Whether the system prefers dark pages.

    Returns:
        The value that the script returns, and the lines of the console.
    """
    place.mkdir()
    (place / "page.html").write_text(page.read_text() + ASK.format(script=script))
    (place / "frame.html").write_text(FRAME.format(width=width))
    program = find()
    assert program is not None
    flags = [*FLAGS, f"--user-data-dir={place / 'profile'}", f"--blink-settings=preferredColorScheme={int(not dark)}"]
    command = [program, *flags, (place / "frame.html").as_uri()]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    answer = done.stdout.partition('<pre id="answer">')[2].partition("</pre>")[0]
    assert answer, done.stderr
    told = json.loads(answer.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert "error" not in told, told["error"]
    return told.get("value"), [line for line in done.stderr.splitlines() if ":CONSOLE:" in line]
