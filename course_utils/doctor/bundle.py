"""Make a report that a student can send to an instructor, without what is nobody's business.

A report holds paths, and paths hold names; variables hold tokens; addresses hold passwords. So
names, tokens, addresses and folders are replaced, each by a word that says what stood there. What
helps to find the fault stays: versions, last parts of paths, messages.

Kind:    plumbing
Public:  bundle, cleaner
Imports: tables and the standard library
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping

from course_utils.doctor import tables

__all__ = ["bundle", "cleaner"]

# variables whose values say nothing about a person
TELLING = set(tables.KNOWN_SWITCHES) - {"PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD"}
SECRET = re.compile(r"TOKEN|SECRET|PASS|PWD|KEY|CREDENTIAL|AUTH|COOKIE|ACCOUNT|EMAIL|PROXY", re.I)
NAMES = ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "NB_USER", "JUPYTERHUB_USER", "EMAIL", "MAIL")
HOMES = ("HOME", "USERPROFILE", "OLDPWD")
HOSTS = ("HOSTNAME", "COMPUTERNAME", "HOST", "USERDNSDOMAIN", "USERDOMAIN", "LOGONSERVER")
# names of users and machines that belong to nobody, and words that a report is made of
NOBODYS = set(
    "root admin administrator user student ubuntu debian jovyan runner docker vscode codespace "
    "localhost localdomain home workgroup python torch torchvision numpy jupyter cuda linux mac "
    "macos windows course conda pip none true false".split()
)
ADDRESS = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://[^\s\"'<>,;]+")
MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
TOKEN = re.compile(
    r"\b(?:gh[opsu]|hf|sk|pk|glpat|xox[a-z]|AKIA|npm|pypi)[_-]?[A-Za-z0-9_-]{12,}"
    r"|\b(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{32,}"
)
# /home/ada, /Users/ada, C:\Users\ada, and how Windows is seen from WSL
SOMEBODYS_HOME = re.compile(r"(?i)(?:[a-z]:|/mnt/[a-z])?[/\\](?:home|users)[/\\][^/\\\s:;\"',()]+")
BELOW = re.compile(r"(<home>|<folder>)(?:[/\\][^/\\:;\"'\n]*)*[/\\]([^/\\\s:;\"',()]*)")
# the folders of every Linux say nothing
NOT_SYSTEM = r"[/\\](?!(?:usr|opt|lib|lib64|etc|proc|sys|dev|bin|sbin|run|tmp|var)\b)"
FOLDER = re.compile(
    r"(?<![\w>.])(?:[A-Za-z]:(?=[/\\]))?"
    + NOT_SYSTEM
    + r"[^/\\\s:;\"',()]+(?:[/\\][^/\\\s:;\"',()]+)*(?=[/\\])"
)
WHOLE_PATH = re.compile(r"(?:[A-Za-z]:)?" + NOT_SYSTEM + r"[^:\n]*[/\\][^:\n]*")


def bundle(facts, findings, verdict, system) -> str:
    """Return the whole report as JSON text, cleaned."""
    from course_utils.doctor import report

    clean = cleaner(system, facts)
    whole = json.loads(report.json_text(facts, findings, verdict))
    whole["cleaned"] = True
    return json.dumps(_walk(whole, clean), indent=2, ensure_ascii=False) + "\n"


def cleaner(system, facts=None) -> Callable:
    """Return a function that cleans a text of what this machine's environment gives away."""
    words = _words(system, facts)
    # the longest first, so that a name inside a path does not break the path
    ordered = sorted(words.items(), key=lambda pair: -len(pair[0]))
    patterns = [(_pattern(word), shown) for word, shown in ordered]

    def clean(text: str) -> str:
        text = MAIL.sub("<mail>", ADDRESS.sub("<address>", text))
        for pattern, shown in patterns:
            text = pattern.sub(shown, text)
        text = SOMEBODYS_HOME.sub("<home>", text)
        text = TOKEN.sub("<token>", text)
        if WHOLE_PATH.fullmatch(text):
            text = "<folder>/" + re.split(r"[/\\]", text.rstrip("/\\"))[-1]
        text = FOLDER.sub("<folder>", text)
        return BELOW.sub(_last_part, text)

    return clean


def _last_part(found):
    # folders below a home are called after people and projects; the name of a file is enough
    is_file = re.match(r"[^.].*\.\w+$", found.group(2)) or found.group(2) in ("python", "torch")
    return found.group(1) + ("/" + found.group(2) if is_file else "/...")


def _words(system, facts):
    """Return what may not appear -> what stands in its place."""
    environ = system.environ
    words = {}
    for name, value in environ.items():
        if SECRET.search(name) and len(value) >= 4:
            words[value] = "<secret>"
        elif _is_private_switch(name, value):
            words[value] = "<set>"
    for name in _user_names(system, facts):
        words[name] = "<user>"
    for name in _host_names(environ):
        words[name] = "<host>"
    homes = [str(system.home)] if system.home else []
    homes += [environ[name] for name in HOMES if environ.get(name)]
    for home in homes:
        for spelled in {home, os.path.realpath(home), home.replace("\\", "/")}:
            words[spelled.rstrip("/\\")] = "<home>"
    if facts is not None:
        words[facts.course.repository if facts.course else ""] = "<course>"
        words[facts.python.prefix if facts.python else ""] = "<environment>"
    return {word: shown for word, shown in words.items() if len(word) >= 2 and word != "/usr"}


def _is_private_switch(name, value):
    from course_utils.doctor.probes import SWITCHES

    plain = not re.search(r"[A-Za-z]", value) or value.lower() in NOBODYS or len(value) < 4
    return SWITCHES.match(name) and name not in TELLING and not plain and "/" not in value


def _user_names(system, facts):
    named = [system.environ.get(name, "") for name in NAMES]
    named += [system.home.name] if system.home else []
    named += [facts.cache.owner] if facts is not None and facts.cache else []
    named += _real_name(system)
    named += [part for name in named for part in re.split(r"[\s\\@.]+", name) if len(part) > 2]
    return {name for name in named if name.lower() not in NOBODYS}


def _real_name(system):
    try:
        import pwd

        return [pwd.getpwuid(os.getuid()).pw_gecos.split(",")[0]]
    except (ImportError, KeyError, AttributeError):  # Windows, or a user without an entry
        return []


def _host_names(environ):
    named = [environ.get(name, "").strip("\\") for name in HOSTS]
    named += [os.uname().nodename] if hasattr(os, "uname") else []
    named += [name.split(".")[0] for name in named]
    return {name for name in named if name.lower() not in NOBODYS}


def _pattern(word):
    # a short name inside a longer word is not that name
    edge = r"(?<![A-Za-z0-9]){}(?![A-Za-z0-9])"
    return re.compile(edge.format(re.escape(word)), re.IGNORECASE)


def _walk(value, clean):
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _walk(part, clean) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walk(part, clean) for part in value]
    return value
