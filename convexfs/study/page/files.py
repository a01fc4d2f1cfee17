"""Pages as files: where one may be written."""

from pathlib import Path

from convexfs.errors import InputError

SUFFIXES = (".html", ".htm")
#: What a page begins with.
DOCTYPE = b"<!DOCTYPE HTML"


def check_page(out: str | Path) -> None:
    """Raise unless a page may be written there: never over what is none."""
    out = Path(out)
    if out.suffix.lower() not in SUFFIXES and not out.is_dir():
        raise InputError(f"{out}: a page is written to a file that ends in .html")
    if out.is_symlink():
        raise InputError(f"{out}: is a symbolic link to another file; choose another name")
    try:
        with out.open("rb") as file:
            begins = file.read(len(DOCTYPE))
    except OSError:
        # Nothing is there, or writing will tell.
        return
    if begins and begins.upper() != DOCTYPE:
        raise InputError(f"{out}: is there already and is no page; choose another name")


def write_page(page: str, out: str | Path) -> None:
    """Write a page, over another one at most."""
    check_page(out)
    try:
        Path(out).write_text(page, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from error
