"""Judge what torch.compile needs: compiler, headers, OpenMP, cache, room, no switch against it.

Kind:    plumbing; chapters 7 to 9 compile
Public:  cache_folder, compile_works, compiler, encoding, headers, openmp, other_switches, room,
         switched_off
Imports: finding, fixes, tables
"""

from __future__ import annotations

import re

from course_utils.doctor import fixes, tables
from course_utils.doctor.finding import note, ok, problem, unknown, warning

__all__ = [
    "cache_folder",
    "compile_works",
    "compiler",
    "encoding",
    "headers",
    "openmp",
    "other_switches",
    "room",
    "switched_off",
]

GIB = 2**30
WITHOUT = "Chapters run without it by torch.compile(..., backend='{}'), with no speed-up."


def switched_off(facts):
    """Say when the environment turns torch.compile off (D34)."""
    findings = []
    for name, value in tables.SWITCHES_OFF.items():
        if facts.switches.get(name) == value:
            found = f"{name}={value} turns torch.compile off, without a word"
            why = "Compiled functions then run as if they were not."
            findings.append(problem("D34", found, why, fixes.unset(facts, name), stops="compile"))
    return findings or [ok("D34", "No variable turns torch.compile off")]


def other_switches(facts):
    """List the other variables that are set, and explain the known ones (D34)."""
    names = [n for n in facts.switches if n not in tables.SWITCHES_OFF and facts.switches[n]]
    if facts.cache and not facts.cache.chosen:  # the course itself has set this one
        names = [n for n in names if n != "TORCHINDUCTOR_CACHE_DIR"]
    names += [n for n, off in tables.SWITCHES_OFF.items() if facts.switches.get(n, off) != off]
    said = [
        f"{name}={facts.switches[name]}: {tables.KNOWN_SWITCHES[name]}"
        for name in names
        if name in tables.KNOWN_SWITCHES
    ]
    said += [
        f"{name}={facts.switches[name]}"
        for name in names
        if name not in tables.KNOWN_SWITCHES and not name.startswith("COURSE_")
    ]
    return _missing_preloads(facts) + [note("D34", line) for line in said]


def encoding(facts):
    """Say when this system writes files in an encoding that others do not read."""
    name = facts.machine.encoding
    if not name or name.lower().replace("-", "") == "utf8":
        return []
    why = "Names of files and texts with other letters may come out wrong."
    return [note("encoding", f"This system's encoding is {name}", why, "Set PYTHONUTF8=1.")]


def _missing_preloads(facts):
    why = "Every program then prints 'ERROR: ld.so: object ... cannot be preloaded', and goes on."
    fix = fixes.unset(facts, "LD_PRELOAD")
    return [
        note("D34", f"LD_PRELOAD names {path}, which is not there", why, fix)
        for path in facts.missing_preloads
    ]


def compiler(facts):
    """Say whether the C++ compiler compiles (D16 on Linux, D15 on Windows, D18 on a Mac)."""
    trial = facts.compiler
    if trial is None:
        return []
    id = {"win32": "D15", "darwin": "D18"}.get(facts.machine.platform, "D16")
    if trial.works:
        return [ok(id, f"C++ compiler: {trial.compiler} compiles")]
    why = "Inductor writes C++ and compiles it at run time. " + WITHOUT.format("aot_eager")
    if "omp.h" in trial.output:
        return [_no_openmp(facts, trial)]
    found = _what_is_wrong(trial)
    fix = fixes.compiler(facts)
    if "xcrun" in trial.output:
        id, fix = "D18", "xcode-select --install"
    elif trial.chosen_by and trial.others:
        fix = fixes.unset(facts, "CXX")
    elif trial.others:
        fix = f"export CXX={trial.others[0]} (in the shell that starts Jupyter)"
    return [problem(id, found, why, fix, stops="compile")]


def _what_is_wrong(trial):
    asked = f" (chosen by the variable {trial.chosen_by})" if trial.chosen_by else ""
    if not trial.found:
        return f"No C++ compiler: '{trial.compiler}'{asked} is not found"
    lines = [line.strip() for line in trial.output.splitlines() if line.strip()]
    telling = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return f"'{trial.compiler}'{asked} does not compile three lines: {telling}"


def headers(facts):
    """Say whether ``Python.h`` is there (D17)."""
    if facts.machine.platform == "win32" and facts.headers.present:
        return [ok("D17", "Python.h is there")]
    if facts.headers.present:
        return [ok("D17", f"Python.h is in {facts.headers.folder}")]
    found = f"Python.h is not in {facts.headers.folder}"
    why = "Every compiled kernel includes it. " + WITHOUT.format("aot_eager")
    return [problem("D17", found, why, fixes.headers(facts), stops="compile")]


def openmp(facts):
    """Say whether a program with OpenMP compiles (D18)."""
    trial = facts.openmp
    if trial is None:
        return []
    if trial.works:
        return [ok("D18", f"OpenMP: {trial.compiler} compiles with it")]
    return [_no_openmp(facts, trial)]


def _no_openmp(facts, trial):
    missing = "omp.h is missing" if "omp.h" in trial.output else trial.output.splitlines()[-1:]
    found = "{} cannot compile with OpenMP: {}".format(
        trial.compiler, missing if isinstance(missing, str) else "".join(missing)
    )
    why = "Kernels for the CPU use it for their threads. " + WITHOUT.format("aot_eager")
    fix = fixes.openmp(facts)
    return problem("D18", found, why, fix, stops="compile")


def cache_folder(facts):
    """Say whether the folder of compiled kernels can be used (D20, D21)."""
    cache = facts.cache
    if cache is None:
        return []
    if cache.failed_at == "load":
        return [_not_executable(facts, cache)]
    if cache.failed_at:
        return [_not_writable(facts, cache)]
    findings = []
    if cache.loaded is None and (facts.compiler is None or facts.compiler.works):
        findings.append(unknown("D20", f"Whether a library in {cache.path} loads was not tried"))
    elif cache.loaded:
        findings.append(ok("D20", f"Compiled kernels go to {cache.path}"))
    return findings + _shared_between_cpus(facts, cache)


def _not_executable(facts, cache):
    found = f"A library built in {cache.path} does not load: {cache.error}"
    why = "The folder's file system allows no programs (noexec). " + WITHOUT.format("aot_eager")
    return problem("D20", found, why, _other_folder(facts, cache), stops="compile")


def _not_writable(facts, cache):
    found = "Cannot {} {}: {}".format(
        {"make": "make the folder", "write": "write in"}[cache.failed_at], cache.path, cache.error
    )
    found += f" (owner: {cache.owner}, mode {cache.mode})" if cache.owner else ""
    why = "torch.compile keeps what it compiled there. " + WITHOUT.format("aot_eager")
    return problem("D21", found, why, _other_folder(facts, cache), stops="compile")


def _other_folder(facts, cache):
    if cache.chosen:
        return fixes.unset(facts, "TORCHINDUCTOR_CACHE_DIR") + ": the course then uses its own"
    setting = (
        "set {}=%LOCALAPPDATA%\\{}" if facts.machine.platform == "win32" else 'export {}="$HOME/{}"'
    )
    return setting.format("COURSE_CACHE", ".pytorch-course") + ", in the shell that starts Jupyter"


def _shared_between_cpus(facts, cache):
    capability = str(facts.torch.said.get("capability", "")) if facts.torch else ""
    if not cache.chosen or not capability or capability.lower() in cache.path.lower():
        return []
    found = f"TORCHINDUCTOR_CACHE_DIR={cache.path} does not name the CPU's instruction set"
    why = (
        "Inductor does not look at it: kernels compiled on another CPU then give wrong numbers. "
        "Harmless as long as only this machine uses the folder."
    )
    return [note("cache-cpu", found, why)]


def room(facts):
    """Say when memory, shared memory or disk are short (D25)."""
    sizes = facts.room
    findings = []
    if sizes.shared_memory is not None and sizes.shared_memory < tables.LITTLE_SHARED_MEMORY * GIB:
        found = f"/dev/shm has {_size(sizes.shared_memory)}"
        why = "DataLoader workers hand their batches over through it, and die where it is full."
        fix = "Keep num_workers=0, as the course does, or start the container with --shm-size=2g."
        findings.append(warning("D25", found, why, fix))
    if sizes.memory is not None and sizes.memory < tables.LITTLE_MEMORY * GIB:
        found = f"{_size(sizes.memory)} of memory"
        why = "torch and the C++ compiler need about 3 GB together; the kernel may be killed."
        findings.append(warning("memory", found, why, "Close other programs before a notebook."))
    if sizes.disk_free is not None and sizes.disk_free < tables.LITTLE_DISK * GIB:
        found = f"{_size(sizes.disk_free)} left on the disk of the caches"
        why = "Compiled kernels and the compiler's headers take some hundred megabytes."
        findings.append(
            warning("disk", found, why, "Free some disk, or set COURSE_CACHE to another.")
        )
    return findings or [ok("room", _room_line(sizes))]


def _room_line(sizes):
    parts = (("memory", sizes.memory), ("/dev/shm", sizes.shared_memory), ("disk", sizes.disk_free))
    said = [f"{_size(size)} {name}" for name, size in parts if size is not None]
    return ", ".join(said) or "nothing to say about memory and disk here"


def _size(size):
    if size < GIB:
        return f"{size / 2**20:.0f} MiB"
    return f"{size / GIB:.0f} GiB"


def compile_works(facts):
    """Say whether a real torch.compile gave what eager gives, forward and backward."""
    tried = facts.compile
    if tried is None:
        return []
    if tried.timed_out:
        why = "The first compilation takes up to half a minute; this machine is busier or slower."
        return [
            unknown("compile", "torch.compile did not end in time", why, "Run the doctor again.")
        ]
    if tried.error or tried.compiled is None:
        return [_compile_failed(facts, tried)]
    if not tried.compiled:
        found = "torch.compile ran and compiled nothing"
        why = "Something in the environment turns it off."
        fix = "Look for torch.compile or dynamo in your environment variables and start-up files."
        return [problem("compile", found, why, fix, stops="compile")]
    if not tried.difference < 1e-4:  # so written that nan fails too
        found = f"torch.compile gives other numbers than eager (off by {tried.difference})"
        why = "Kernels of another CPU in the cache do that."
        return [problem("D24", found, why, _clear(facts), stops="compile")]
    return [ok("compile", f"torch.compile works, forward and backward ({tried.seconds} s)")]


BROKEN_CACHE = re.compile(
    r"file too short|invalid ELF header|pickle data was truncated|UnpicklingError|EOFError"
    r"|inductor\.runtime\.compile_tasks\S* has no attribute|has no attribute 'call'"
)


def _compile_failed(facts, tried):
    why = _fallback(tried)
    if BROKEN_CACHE.search(tried.error):
        found = f"The compile cache is damaged: {_telling_line(tried.error)}"
        why = "A full disk or a killed process leaves half files there. " + why
        return problem("D24", found, why, _clear(facts), stops="compile")
    if "python 3.1" in tried.error.lower() and "not yet supported" in tried.error.lower():
        found = _telling_line(tried.error)
        return problem("D11", found, why, "Use a Python in the range of the course.", "compile")
    if re.search(r"only support MSVC with English language pack", tried.error):
        fix = "Add the English language pack to the Visual Studio Build Tools."
        return problem("D15", "The C++ compiler speaks another language", why, fix, "compile")
    if "riton" in tried.error and re.search(r"TritonMissing|working triton", tried.error):
        fix = "Set COURSE_DEVICE=cpu; compiling for the GPU needs triton, which is not there."
        return problem("D15", "triton is missing", why, fix, stops="compile")
    found = f"torch.compile fails: {_telling_line(tried.error) or tried.code}"
    fix = "Run the doctor with --json and send its output to your instructor."
    return problem("compile", found, why, fix, stops="compile")


def _fallback(tried):
    return WITHOUT.format(tried.fallback) if tried.fallback else "The fallback backends fail too."


def _telling_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error", line, re.I)]
    # the first line names torch's wrapper, the second one what happened
    return (telling[1] if len(telling) > 1 else (telling or lines or [""])[0])[:200]


def _clear(facts):
    if facts.cache is None:
        return "Delete the compile cache."
    return f"Delete this folder and nothing else: {facts.cache.path}"
