"""`pyke verify`: check an embedding directory."""

from __future__ import annotations

from pyke.cli import terminal
from pyke.cli.options import AsJson, Directory
from pyke.cli.tables import print_table

SHOWN_DIGITS = 16  # of a checksum; JSON has all of them


def verify(directory: Directory, as_json: AsJson = False) -> None:
    """Check the files of an embedding directory: sizes, checksums, contents."""
    from pyke.embedding.store import verify as check

    files = check(directory)["files"]
    if as_json:
        terminal.print_json({"ok": True, "files": files})
        return
    rows = [
        (name, f"{entry['bytes']:,}", f"{entry['sha256'][:SHOWN_DIGITS]}…")
        for name, entry in files.items()
    ]
    print_table(("file", "bytes", "SHA-256"), rows, right=(1,))
    terminal.say(f"{directory}: OK")
