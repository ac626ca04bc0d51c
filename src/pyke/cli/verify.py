"""`pyke verify`: check an embedding directory."""

from __future__ import annotations

from pyke.cli import terminal
from pyke.cli.options import AsJson, Directory, app


@app.command()
def verify(directory: Directory, json_: AsJson = False) -> None:
    """Check an embedding directory: sizes, checksums, finiteness."""
    from pyke.embedding.store import verify as check

    manifest = check(directory)
    if json_:
        terminal.print_json({"ok": True, "files": manifest["files"]})
        return
    table = terminal.new_table("file", "bytes", "SHA-256", right=(1,))
    for name, entry in manifest["files"].items():
        table.add_row(name, f"{entry['bytes']:,}", entry["sha256"])
    terminal.out().print(table)
    terminal.out().print(f"{directory}: whole and sound.", highlight=False)
