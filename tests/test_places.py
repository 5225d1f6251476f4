"""places names the same folders for course.py, the doctor and the notebooks, on every platform."""

import ast
from pathlib import Path

import pytest

from course_utils import places

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, HOME / ".cache/pytorch-course"),
        ("linux", {"XDG_CACHE_HOME": "/scratch"}, Path("/scratch/pytorch-course")),
        ("darwin", {"XDG_CACHE_HOME": "/scratch"}, HOME / "Library/Caches/pytorch-course"),
        ("win32", {"LOCALAPPDATA": "C:/Local"}, Path("C:/Local/pytorch-course/Cache")),
        ("win32", {}, HOME / ".cache/pytorch-course"),
        ("linux", {"COURSE_CACHE": "/mine", "XDG_CACHE_HOME": "/scratch"}, Path("/mine")),
        ("linux", {"COURSE_CACHE": ""}, HOME / ".cache/pytorch-course"),
    ],
)
def test_caches_lie_where_the_platform_expects_them(platform, environ, folder):
    assert places.cache_root(environ, platform, HOME) == folder


def test_a_user_without_a_home_gets_a_cache_below_the_repository(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(places.Path, "home", no_home)

    assert places.cache_root({}, "linux").is_relative_to(places.repository())


def test_cpus_with_other_instructions_never_share_compiled_kernels():
    folders = {
        places.compile_cache(version, capability, Path("caches"))
        for version in ("2.14.1+cpu", "2.14.1+cu130", "2.15.0")
        for capability in ("DEFAULT", "AVX2", "AVX512")
    }

    assert len(folders) == 9


def test_no_compiled_kernel_lies_below_a_folder_with_a_blank(monkeypatch):
    monkeypatch.setattr(places.getpass, "getuser", lambda: "Ada Lovelace")
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: "/tmp")

    folder = places.compile_cache("2.14.1", "AVX2", Path("/home/Ada Lovelace/.cache"))

    assert folder == Path("/tmp/pytorch-course-Ada_Lovelace/inductor/torch-2.14.1-AVX2")


def test_a_user_without_a_name_has_a_cache_too(monkeypatch):
    def nobody():
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(places.getpass, "getuser", nobody)

    assert "pytorch-course-user" in str(places.compile_cache("2.14.1", "AVX2", Path("a b")))


def test_the_repository_holds_this_package_and_the_students_folder():
    assert (places.repository() / "course_utils" / "places.py").is_file()
    assert places.my_work().parent == places.repository()


def test_an_old_python_can_read_it():
    source = Path(places.__file__).read_text(encoding="utf-8")

    ast.parse(source, feature_version=(3, 7))


def test_what_was_compiled_ahead_lies_in_the_environment_unless_chosen():
    assert places.warm_folder({}, "/env") == Path("/env/share/pytorch-course")
    assert places.warm_folder({"COURSE_WARM": "/shared"}, "/env") == Path("/shared")


@pytest.mark.parametrize(
    ("user", "folder"),
    [("ada", "torchinductor_ada"), (r"CORP\ada:1", "torchinductor_CORP_ada_1")],
)
def test_headers_lie_among_the_temporary_files_of_each_user(user, folder):
    assert places.header_folder("/tmp", user) == Path("/tmp", folder, "precompiled_headers")


@pytest.mark.parametrize(
    ("variable", "ask"),
    [("COURSE_CACHE", places.cache_root), ("COURSE_WARM", places.warm_folder)],
)
def test_the_home_of_nobody_is_named_with_the_variable(variable, ask):
    with pytest.raises(RuntimeError, match=f"{variable} is ~nobody-at-all/x, and this machine"):
        ask({variable: "~nobody-at-all/x"})


def test_what_is_in_the_way_of_a_folder_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")

    assert places.in_the_way(tmp_path / "new" / "deeper") == ""
    for folder in (tmp_path / "file", tmp_path / "file" / "deeper"):
        assert places.in_the_way(folder) == f"{tmp_path / 'file'} is a file, not a folder"
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert places.in_the_way(tmp_path / "new") == f"{tmp_path} is not yours to write"
