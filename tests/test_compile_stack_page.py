"""The page of an explanation stands alone, and the command writes what it is asked for."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
import torch

from course_utils.compile_stack import command, explain
from course_utils.compile_stack.page import LARGEST, html_page, html_stage, html_stages

FILE = """
import torch

factor = 2.0


def scale(x, power=1):
    return x**power * factor


def talks(x):
    y = x * 2
    print("in the middle")
    return y < 1


def nothing():
    return torch.ones(2) + 1


def fails(x):
    raise ValueError("this is the learner's")


inputs = torch.ones(3)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "learners.py"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained():
    weight = torch.ones(3, 4, requires_grad=True)
    return explain(lambda x: torch.exp(x @ weight).sum(), torch.ones(2, 3), without_inductor=True)


def drawings(html):
    return [ElementTree.fromstring(one) for one in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def words_in(svg):
    return [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]


def test_the_page_needs_nothing_but_itself(trained):
    page = html_page(trained)

    assert not re.search(r"<script|<link|<img|src=|href=|url\(|@import", page)
    assert page.startswith("<!doctype html>")
    assert 'lang="en"' in page


def test_every_tag_that_opens_closes(trained):
    open_tags = []

    class Watcher(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ("meta", "line", "rect"):
                open_tags.append(tag)

        def handle_endtag(self, tag):
            if tag not in ("line", "rect"):
                assert open_tags.pop() == tag

    Watcher().feed(html_page(trained))

    assert open_tags == []


def test_every_stage_is_behind_its_heading(trained):
    html = html_stages(trained)

    assert re.findall(r"<summary><b>(.+?)</b>", html) == [stage.name for stage in trained.stages]


def test_a_drawing_shows_operations_sizes_and_a_line_for_each_use(trained):
    (svg,) = drawings(html_stage(trained, trained.stage("captured graph")))

    words = words_in(svg)
    assert {"x", "matmul", "exp", "sum", "result", "[2, 4]"} <= set(words)
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}line"))) == 5
    assert svg.get("role") == "img" and "matmul" in svg.get("aria-label")


def test_what_is_saved_for_backward_is_marked_in_the_drawing_of_forward(trained):
    (svg,) = drawings(html_stage(trained, trained.stage("forward graph")))

    assert "[2, 4] saved" in words_in(svg)


def test_each_operation_stands_below_what_it_needs(trained):
    (svg,) = drawings(html_stage(trained, trained.stage("forward graph")))

    for line in svg.iter("{http://www.w3.org/2000/svg}line"):
        assert float(line.get("y1")) < float(line.get("y2"))


def test_no_two_boxes_of_a_drawing_overlap(trained):
    for stage in trained.stages:
        for svg in drawings(html_stage(trained, stage)):
            boxes = [
                [float(rect.get(side)) for side in ("x", "y", "width", "height")]
                for rect in svg.iter("{http://www.w3.org/2000/svg}rect")
            ]
            for i, (x, y, width, height) in enumerate(boxes):
                for other_x, other_y, *_ in boxes[i + 1 :]:
                    apart = not x <= other_x < x + width or not y <= other_y < y + height
                    assert apart


def test_a_graph_that_is_too_large_is_left_as_text():
    def long(x):
        for _ in range(LARGEST):
            x = torch.sin(x)
        return x

    found = explain(long, torch.ones(2), without_inductor=True)

    html = html_stage(found, found.stage("captured graph"))
    assert "<svg" not in html and "torch.sin" in html


def run(*arguments):
    return command.main([*map(str, arguments), "--without-inductor"])


def test_a_function_of_a_file_is_explained_with_the_inputs_of_the_file(file, capsys):
    assert run(f"{file}:scale") == 0

    assert capsys.readouterr().out.startswith("scale: 1 graph, 0 breaks\n")


def test_inputs_can_be_given_and_know_torch_and_the_file(file, capsys):
    assert run(f"{file}:scale", "--inputs", "torch.ones(5) * factor, 3", "--stage", "guards") == 0

    shown = capsys.readouterr().out
    assert "`x` is a float32 tensor of size (5,) on cpu" in shown
    assert "`power` is 3" in shown


def test_a_function_without_arguments_needs_no_inputs(file, capsys):
    file.write_text(FILE.replace("inputs =", "others ="), encoding="utf-8")

    assert run(f"{file}:nothing") == 0
    assert run(f"{file}:scale") == 2

    assert "scale needs arguments: define `inputs` in" in capsys.readouterr().err


def test_the_data_holds_what_the_record_holds(file, capsys):
    assert run(f"{file}:talks", "--json") == 0

    said, _, data = capsys.readouterr().out.partition("\n")
    found = json.loads(data)
    assert said == "in the middle"  # the function ran
    assert [one["kind"] for one in found["breaks"]] == ["print"]
    assert len(found["graphs"]) == 2


def test_a_page_is_written_with_what_the_learner_wrote_as_text(file, tmp_path, capsys):
    page = tmp_path / "page.html"

    assert run(f"{file}:talks", "--html", page) == 0

    text = page.read_text(encoding="utf-8")
    assert "y &lt; 1" in text and "y < 1" not in text
    assert f"Written to {page}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{file}"], 2, "names no function; write FILE:FUNCTION"),
        (["nowhere.py:f"], 2, "There is no file nowhere.py"),
        (["{file}:missing"], 2, "defines no function missing"),
        (["{file}:factor"], 2, "defines no function factor"),
        (["{file}:scale", "--inputs", "1 +"], 2, "--inputs '1 +' is no use"),
        (["{file}:scale", "--stage", "cellar"], 2, "no stage 'cellar'; there are source"),
        (["{file}:fails"], 1, "this is the learner's"),
        (["{file}:scale", "--inputs", "exit()"], 1, "ended the program (code None) before"),
        (["{file}:scale", "--html", "{file}/page.html"], 1, "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_a_code(file, capsys, arguments, code, words):
    assert run(*(argument.format(file=file) for argument in arguments)) == code

    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


def test_the_front_door_leads_here(file):
    done = subprocess.run(
        [sys.executable, "-m", "course_utils", "explain", f"{file}:scale", "--without-inductor"],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("scale: 1 graph, 0 breaks\n")
