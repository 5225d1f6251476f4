"""``tools/other_books.py`` says in a sentence what it cannot do; its builds need an index."""

import subprocess

import other_books
import pytest


def test_a_version_that_there_is_not_is_refused_before_anything_is_made(capsys):
    with pytest.raises(SystemExit) as ended:
        other_books.main(["3"])

    assert ended.value.code == 2
    assert "invalid choice: '3'" in capsys.readouterr().err


def test_without_a_package_index_it_says_what_to_do(monkeypatch):
    def unreachable(*command, **options):
        raise subprocess.CalledProcessError(1, ["python", "-m", "pip"])

    monkeypatch.setattr(other_books, "_environment", unreachable)

    with pytest.raises(SystemExit, match=r"Jupyter Book 2 could not be installed .* connect this"):
        other_books.main(["2"])
