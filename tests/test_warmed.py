"""What was compiled ahead reaches each user's own folders whole, and nobody else's code does."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from course_utils import places, warmed
from course_utils.warmed import HEADERS, KERNELS, RECORD, Piece, Record

NAME = "torch-2.14.1-AVX2"
RECORDED = Record(
    "2.14.1", "AVX2", "/env/torch", threads=2, pieces={"07_compile": Piece("abc", 1.0, "today")}
)


@pytest.fixture
def root(tmp_path):
    """A folder of what was compiled ahead: two kernels, a header, a lock and half a file."""
    part = tmp_path / "warm" / NAME
    for path in (f"{KERNELS}/ab/one.so", f"{KERNELS}/fxgraph/cd/two", f"{HEADERS}/a.h.gch"):
        file = part / path
        file.parent.mkdir(parents=True)
        file.write_text(path)
    for path in (f"{KERNELS}/locks/one.lock", f"{KERNELS}/ab/.7.8.tmp", f"{HEADERS}/b.h.pch"):
        (part / path).parent.mkdir(exist_ok=True)
        (part / path).write_text("stays")
    warmed.write(part, RECORDED)
    return part.parent


@pytest.fixture
def own(tmp_path, monkeypatch):
    """This user's cache; the user's temporary files lie beside it."""
    monkeypatch.setattr(places, "header_folder", lambda: tmp_path / "own_headers")
    return tmp_path / "own" / "inductor" / NAME


def names(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_kernels_and_headers_are_copied_and_locks_are_not(root, own, tmp_path):
    assert warmed.take_over(own, "/env/torch", root) == 3

    assert names(own) == ["ab/one.so", "fxgraph/cd/two"]
    assert names(tmp_path / "own_headers") == ["a.h.gch"]


def test_nothing_else_is_put_into_the_cache_itself(root, own):
    warmed.take_over(own, "/env/torch", root)

    assert {path.name for path in own.iterdir()} == {"ab", "fxgraph"}


def test_the_users_own_files_are_never_replaced(root, own):
    (own / "ab").mkdir(parents=True)
    (own / "ab/one.so").write_text("mine")

    warmed.take_over(own, "/env/torch", root)

    assert (own / "ab/one.so").read_text() == "mine"


def test_a_second_start_looks_and_copies_nothing(root, own):
    warmed.take_over(own, "/env/torch", root)
    (own / "ab/one.so").unlink()

    assert warmed.take_over(own, "/env/torch", root) == 0


def test_what_is_added_later_arrives_at_the_next_start(root, own):
    warmed.take_over(own, "/env/torch", root)
    (root / NAME / KERNELS / "ab/three.so").write_text("later")
    warmed.write(root / NAME, Record("2.14.1", "AVX2", "/env/torch", threads=2))

    assert warmed.take_over(own, "/env/torch", root) == 1


def test_a_cache_that_was_deleted_is_filled_again(root, own, tmp_path):
    warmed.take_over(own, "/env/torch", root)
    own.rename(tmp_path / "gone")

    assert warmed.take_over(own, "/env/torch", root) == 2


def test_headers_that_a_restart_cleared_come_back(root, own, tmp_path):
    warmed.take_over(own, "/env/torch", root)
    (tmp_path / "own_headers/a.h.gch").unlink()

    assert warmed.take_over(own, "/env/torch", root) == 1


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("torch-2.14.1-AVX512", "/env/torch"),
        ("torch-2.15.0-AVX2", "/env/torch"),
        (NAME, "/other/torch"),
    ],
)
def test_what_belongs_to_another_cpu_or_torch_is_left_alone(root, own, name, library):
    assert warmed.take_over(own.with_name(name), library, root) == 0

    assert not own.parent.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("open_folder", [".", NAME])
def test_a_folder_that_everybody_may_change_is_not_trusted(root, own, open_folder):
    (root / open_folder).chmod(0o777)

    assert warmed.take_over(own, "/env/torch", root) == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pieces": {"07": 3}}'])
def test_a_record_that_cannot_be_read_counts_as_none(root, own, text):
    (root / NAME / RECORD).write_text(text)

    assert warmed.take_over(own, "/env/torch", root) == 0
    assert warmed.contents(root) == []


def test_a_full_disk_only_means_that_nothing_is_taken_over(root, own, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(warmed.shutil, "copyfile", full)

    assert warmed.take_over(own, "/env/torch", root) == 0
    assert names(own.parent) == []


def test_where_nothing_was_compiled_ahead_nothing_happens(tmp_path, own):
    assert warmed.take_over(own, "/env/torch", tmp_path / "none") == 0
    assert warmed.contents(tmp_path / "none") == []


def test_many_who_start_at_once_all_find_whole_files(root, own):
    big = "x" * 100_000
    for number in range(50):
        (root / NAME / KERNELS / f"ab/{number}.so").write_text(big)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: warmed.take_over(own, "/env/torch", root), range(8)))

    assert all((own / f"ab/{number}.so").read_text() == big for number in range(50))
    assert not [name for name in names(own) if name.endswith(".tmp")]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_is_laid_may_be_read_by_all_whatever_the_mask(root, tmp_path):
    before = os.umask(0o077)
    try:
        warmed.lay(root / NAME / KERNELS, tmp_path / "a/b", mode=0o755)
    finally:
        os.umask(before)

    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "a").rglob("*")}
    assert modes == {
        **dict.fromkeys(("b", "ab", "fxgraph", "cd"), 0o755),
        **dict.fromkeys(("one.so", "two"), 0o644),
    }


def test_contents_tell_chapters_sizes_and_for_whom(root):
    (found,) = warmed.contents(root)

    assert (found.files, found.record) == (2, RECORDED)
    assert str(found).startswith("chapter 7; 2 files, 0.0 MB, and 0 MB of headers; torch 2.14.1")
    assert warmed.as_data(found)["record"]["pieces"]["07_compile"]["code"] == "abc"


def test_headers_are_looked_for_where_torch_keeps_them(tmp_path):
    code = (
        "from course_utils import places; from torch._inductor import codecache; "
        "print(places.header_folder()); print(codecache._HEADER_DIR)"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path), "LOGNAME": "a:b"}

    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )

    ours, theirs = done.stdout.splitlines()
    assert Path(ours) == Path(theirs)


def test_a_piece_whose_name_has_no_number_is_no_chapter():
    piece = warmed.Piece("c", 1.0, "2026-01-01")
    names = ["extra", "", "7", "07_compile", "99bottles", "solutions/09_traps", "²²_x"]
    pieces = dict.fromkeys(names, piece)
    record = warmed.Record("2.14.1", "AVX2", "/lib", 1, pieces)

    told = str(warmed.Warmed(Path("there"), record, 0, 0, 0))

    assert told.startswith("chapter 7; ")
    assert "1 thread;" in told


def test_a_record_that_is_nested_too_deep_is_none(tmp_path):
    (tmp_path / "warm.json").write_text("[" * 100_000)

    assert warmed.read(tmp_path) is None


def test_taking_over_never_raises_whatever_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_WARM", "~nobody-at-all/x")

    assert warmed.take_over(tmp_path / "torch-2", library="/lib") == 0
