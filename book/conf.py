"""Build the book: ``sphinx-build -c book -b html -W --keep-going . _build/book``.

Run it from the root of the repository. Nothing is executed: the pages show the outputs that are
stored in the notebooks, which are the ones that the tests compared. Nothing is fetched either:
formulas and widgets come from ``_build/vendor`` (see tools/vendor_assets.py).

What the course adds to Sphinx stands in ``book/course_book.py``.
"""

import os
import sys
from pathlib import Path

BOOK = Path(__file__).resolve().parent
sys.path.insert(0, str(BOOK))

project = "PyTorch 2, measured"
language = "en"
extensions = ["myst_nb", "sphinx_external_toc", "sphinx_copybutton", "course_book"]

# the reading order; solutions are pages too, but stand outside it
external_toc_path = "book/_toc.yml"
include_patterns = ["book/**.md", "notebooks/**.ipynb"]
exclude_patterns = ["**.ipynb_checkpoints"]

nb_execution_mode = "off"
nb_merge_streams = True
nb_output_stderr = "show"
myst_enable_extensions = ["amsmath", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"

# one folder beside the pages serves the book and the decks; course_book puts it there
mathjax_path = "../vendor/mathjax/tex-mml-chtml.js"
mathjax4_config = {"loader": {"paths": {"fonts": "[mathjax]/.."}}}
nb_ipywidgets_js = {
    "../vendor/require.js": {},
    "../vendor/require-config.js": {},
    "../vendor/@jupyter-widgets/html-manager/dist/embed-amd.js": {},
    "../vendor/widget-images.js": {"loading_method": "defer"},
}

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["course.css"]
html_favicon = "_static/favicon.svg"
html_show_sphinx = False
html_show_copyright = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "path_to_docs": "",  # pages are named from the root of the repository on
    "home_page_in_toc": True,
    "show_navbar_depth": 1,
    "collapse_navbar": True,  # the exercises of the chapter that is open, and no buttons
    "show_toc_level": 2,
    "navbar_persistent": [],  # the sidebar has a search field already
    "use_download_button": True,
    "use_fullscreen_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_content_items": ["extra-footer.html"],
    "extra_footer": "Code: BSD-3-Clause. Text and figures: CC BY 4.0.",
}

# the instructor's copy of the book holds the key to exercises and quizzes; course.py book
# --for-instructors builds it, into a folder of its own
course_answers = os.environ.get("COURSE_ANSWERS", "") == "1"

# A fork that has an address gets buttons that lead there:
#   COURSE_REPOSITORY=https://host/owner/name sphinx-build ...
# The theme wants to know what kind of host it is; GitHub's way is the most common one. With the
# address of a Binder or of Colab, each notebook gets a button that opens it there:
#   COURSE_BINDER=https://mybinder.org COURSE_COLAB=https://colab.research.google.com
course_repository = os.environ.get("COURSE_REPOSITORY", "")
if course_repository:
    html_theme_options |= {
        "repository_url": course_repository,
        "repository_branch": os.environ.get("COURSE_BRANCH", "main"),
        "repository_provider": os.environ.get("COURSE_REPOSITORY_KIND", "github"),
        "use_repository_button": True,
        "use_issues_button": True,
        "launch_buttons": {
            "notebook_interface": "jupyterlab",
            "binderhub_url": os.environ.get("COURSE_BINDER", ""),
            "colab_url": os.environ.get("COURSE_COLAB", ""),
        },
    }
