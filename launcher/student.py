"""Give the student copies of the chapters, and never write over a file that is there."""

import json
from pathlib import Path  # noqa: F401 (read by the type comments)

from launcher.shell import Stop, digest, read_record, write_whole


def deliver(source, target):
    # type: (Path, Path) -> list[tuple[str, str]]
    """Copy chapters, exercises and pictures; return pairs of what changed and what lies beside.

    No file in the target is ever written over. A record of what was delivered tells a chapter
    that changed here from one that the student edited there.
    """
    target.mkdir(exist_ok=True)
    record_file = target / ".course.json"
    record = read_record(record_file)
    before, beside = dict(record), []
    patterns = ("*.ipynb", "exercises/*.ipynb", "images/*.*")
    for path in sorted(path for pattern in patterns for path in source.glob(pattern)):
        name = path.relative_to(source).as_posix()
        raw = path.read_bytes()
        known = record.get(name, {})
        if known.get("source") == digest(raw) and (target / name).exists():
            continue
        content = student_copy(raw, name) if path.suffix == ".ipynb" else raw
        if known.get("content") != digest(content) or not (target / name).exists():
            written = write_beside(target / name, content)
            if written != target / name:
                beside.append((name, written.relative_to(target).as_posix()))
        record[name] = {"source": digest(raw), "content": digest(content)}
    if record != before:
        write_whole(record_file, json.dumps(record, indent=1, sort_keys=True).encode())
    return beside


def student_copy(notebook, name="notebook"):
    # type: (bytes, str) -> bytes
    """Return a notebook without outputs: a printed answer would spoil the prediction."""
    try:
        content = json.loads(notebook.decode("utf-8"))
    except ValueError:
        raise Stop(f"{name} cannot be read; `git checkout notebooks` brings it back.") from None
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    content["metadata"].pop("widgets", None)
    content["metadata"]["kernelspec"] = {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    }
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def write_beside(path, content):
    # type: (Path, bytes) -> Path
    """Write to path, or to the first free name beside it; return where the content lies now."""
    names = [path, path.with_suffix(".new" + path.suffix)]
    names += [path.with_suffix(f".new-{number}{path.suffix}") for number in range(2, 1000)]
    for name in names:
        if not name.exists():
            write_whole(name, content)
            return name
        if name.read_bytes() == content:
            return name
    raise Stop(f"{path.parent} holds too many copies of {path.name}; delete some of them.")


def first_notebook(work):
    # type: (Path) -> list[str]
    """Return the chapter to open, or nothing where there is none."""
    return [path.name for path in sorted(work.glob("[0-9][0-9]_*.ipynb"))][:1]
