"""Right and wrong answers to the exercises of chapter 13, and what each wrong one must be told."""

import contextlib
import copy
import os
import shutil
import tempfile
from pathlib import Path

import torch

from tests.answers import Answers

# 13.1


def bytes_by_dictionary(weights):
    sizes = {}
    for weight in weights.values():
        storage = weight.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
    return sum(sizes.values())


def bytes_by_list(weights):
    seen, total = [], 0
    for weight in weights.values():
        if weight.untyped_storage().data_ptr() not in seen:
            seen.append(weight.untyped_storage().data_ptr())
            total += len(weight.untyped_storage())
    return total


def bytes_of_places(weights):
    return sum({w.data_ptr(): w.untyped_storage().nbytes() for w in weights.values()}.values())


# 13.2


def compact_by_loop(weights):
    small = {}
    for name in weights:
        small[name] = torch.empty_like(weights[name], memory_format=torch.contiguous_format)
        small[name].copy_(weights[name])
    return small


def each(change):
    return lambda weights: {name: change(weight) for name, weight in weights.items()}


# 13.4


def kind_by_table(start):
    signs = {b"PK": "archive", b"version https://git-lfs": "git-lfs pointer"}
    for sign, kind in signs.items():
        if start[: len(sign)] == sign:
            return kind
    if len(start) == 0:
        return "empty"
    return "web page" if start.strip()[:1] == b"<" else "something else"


def kind(start, empty="empty", page=lambda start: start.lstrip().startswith(b"<"), pk=None):
    if not start:
        return empty
    if (pk or bytes.startswith)(start, b"PK"):
        return "archive"
    if start.startswith(b"version https://git-lfs"):
        return "git-lfs pointer"
    return "web page" if page(start) else "something else"


# 13.7


def written(sync=True, move=None, clean=True, late=False, name=None):
    """Make a save, whole or with a fault."""

    def write(path, content):
        half = (name or beside)(path)
        with contextlib.ExitStack() as at_the_end:
            if clean:
                at_the_end.callback(half.unlink, missing_ok=True)
            with open(half, "wb") as file:
                file.write(content)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            (move or os.replace)(half, path)
            if late:
                with open(path, "rb+") as file:
                    os.fsync(file.fileno())

    return write


def beside(path):
    return path.with_name(path.name + ".part")


def elsewhere(path):
    return Path(tempfile.gettempdir()) / f"{path.parent.name}.part"


def by_descriptor(path, content):
    half = path.parent / "half"
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0))
    try:
        os.write(handle, content)
        os.fsync(handle)
    except OSError:
        os.close(handle)
        half.unlink()
        raise
    os.close(handle)
    try:
        half.replace(path)
    except OSError:
        half.unlink()
        raise


def directly(path, content):
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def with_a_copy(path, content):
    if path.exists():
        shutil.copy(path, path.with_name("old"))
    directly(path, content)


def nothing_written(path, content):
    return path


# 13.8


def back(model=True, optimizer=True, generator=True, dice=True, plain=True):
    """Put back what is asked for, and leave out the rest."""

    def put(saved, own, own_optimizer, own_generator):
        weights = saved["model"]
        if plain:
            weights = {name.replace("_orig_mod.", ""): value for name, value in weights.items()}
        if model:
            own.load_state_dict(weights)
        if optimizer:
            own_optimizer.load_state_dict(saved["optimizer"])
        if generator:
            own_generator.set_state(saved["generator"])
        if dice:
            torch.set_rng_state(saved["torch"])
        return True

    return put


def back_by_hand(saved, model, optimizer, generator):
    weights = {name.rpartition("_orig_mod.")[2]: value for name, value in saved["model"].items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    optimizer.load_state_dict(copy.deepcopy(saved["optimizer"]))
    generator.set_state(saved["generator"])
    torch.random.set_rng_state(saved["torch"])
    return True


def back_then_thrown(saved, model, optimizer, generator):
    back()(saved, model, optimizer, generator)
    return bool(torch.rand(1) < 2)


# 13.9


def migrate(old, rename=None, number=2, classes=True):
    if old["format"] == 2:
        return old
    rename = rename or (lambda name: "head." + name[3:] if name[:3] == "fc." else name)
    new = {"format": number, "weights": {rename(n): w for n, w in old["weights"].items()}}
    return new | {"classes": 10} if classes else new


def migrate_a_copy(old):
    if old["format"] >= 2:
        return dict(old)
    new = copy.deepcopy(old)
    for name in list(new["weights"]):
        if name.startswith("fc."):
            new["weights"][name.replace("fc.", "head.", 1)] = new["weights"].pop(name)
    new.update(format=2, classes=10)
    return new


def migrate_itself(old):
    if old["format"] == 1:
        for name in list(old["weights"]):
            if name.startswith("fc."):
                old["weights"]["head." + name[3:]] = old["weights"].pop(name)
        old.update(format=2, classes=10)
    return old


# 13.10


def answer_here(*, map_location="cpu", load=True, evaluate=True):
    def answer(path, model, x):
        weights = torch.load(path, map_location=map_location, weights_only=True)
        if load:
            model.load_state_dict(weights)
        model.train(not evaluate)
        return model(x)

    return answer


def answer_from_a_twin(path, model, x):
    weights = torch.load(path, map_location=lambda storage, place: storage, weights_only=True)
    model.load_state_dict(weights, assign=True)
    model.eval()
    with torch.inference_mode():
        return model(x.to(next(model.parameters()).device)).to(x.device)


ANSWERS = {
    "13.1": Answers(
        right=[bytes_by_dictionary, bytes_by_list],
        wrong=[
            (lambda weights: sum(4 * w.numel() for w in weights.values()), "four bytes"),
            (
                lambda weights: sum(w.numel() * w.element_size() for w in weights.values()),
                "counted the numbers of each tensor",
            ),
            (
                lambda weights: sum(w.untyped_storage().nbytes() for w in weights.values()),
                "once for each name",
            ),
            (bytes_of_places, "not each storage"),
            (lambda weights: sum(w.nbytes for w in weights.values()), "the numbers of each tensor"),
        ],
    ),
    "13.2": Answers(
        right=[each(torch.clone), compact_by_loop],
        wrong=[
            (each(lambda w: w), "do not copy what lies in one piece"),
            (
                each(lambda w: w.clone() if w.is_contiguous() else w),
                "each tensor needs one of its own",
            ),
            (lambda weights: {"row": weights["row"]}, "names, numbers and types must stay"),
            (each(torch.Tensor.contiguous), "do not copy what lies in one piece"),
            (each(lambda w: w.detach()), "do not copy"),
            (each(copy.deepcopy), "copy.deepcopy copies the whole storage"),
            (each(lambda w: torch.tensor(w.tolist())), "names, numbers and types must stay"),
            (lambda weights: [w.clone() for w in weights.values()], "a dictionary is expected"),
        ],
    ),
    "13.3": Answers(
        right=[
            lambda names: [name.replace("_orig_mod.", "") for name in names],
            lambda names: ["".join(name.split("_orig_mod.")) for name in names],
            lambda names: [
                ".".join(part for part in name.split(".") if part != "_orig_mod") for name in names
            ],
        ],
        wrong=[
            (lambda names: [n.removeprefix("_orig_mod.") for n in names], "at the start"),
            (lambda names: [n.lstrip("_orig_mod.") for n in names], "used lstrip"),  # noqa: B005
            (lambda names: [n[10:] for n in names], "cut off ten letters"),
            (lambda names: [n.split(".")[-1] for n in names], "the last part"),
            (lambda names: [n.replace("_orig_mod.", "", 1) for n in names], "first occurrence"),
            (lambda names: names, "expected"),
        ],
    ),
    "13.4": Answers(
        right=[kind, kind_by_table],
        wrong=[
            (lambda s: kind(s, page=lambda s: s.startswith(b"<")), "past the blanks"),
            (lambda s: kind(s, pk=bytes.__contains__), "looked for PK anywhere"),
            (
                lambda s: kind(s, page=lambda s: s.lstrip().startswith(b"<!DOCTYPE")),
                "one kind of page",
            ),
            (lambda s: kind(s, empty="something else"), "no word for an empty file"),
            (
                lambda s: "git-lfs pointer" if s[:7] == b"version" else kind(s),
                "took every 'version'",
            ),
            (lambda s: kind(s).upper(), "expected"),
        ],
    ),
    "13.5": Answers(
        right=[("a", "d", "f", "g"), tuple("adfg")],
        wrong=[
            (("a", "b", "d", "f", "g"), "the NumPy number"),
            (("a", "c", "d", "f", "g"), "the path"),
            (("a", "d", "e", "f", "g"), "the whole model"),
            (("a", "d", "g"), "the optimiser's state"),
            (("a", "d", "f"), "kept the dtype out"),
            (("a", "d", "f", "g", "h"), "let the function pass"),
            (("a",), "expected"),
        ],
    ),
    "13.6": Answers(
        right=["DBCAE", "".join(["D", "B", "C", "A", "E"])],
        wrong=[
            ("DBACE", "before the bytes were on the disk"),
            ("BCADE", "too late"),
            ("DBCEA", "before it had the new name"),
            ("BDCAE", "after writing them"),
            ("DCBAE", "not written yet"),
            ("ABCDE", "expected"),
        ],
    ),
    "13.7": Answers(
        right=[written(), by_descriptor],
        wrong=[
            (directly, "written under its own name"),
            (with_a_copy, "rubbish in the folder: old"),
            (written(sync=False), "before the bytes are"),
            (written(clean=False), "after os.fsync failed there is rubbish"),
            (written(move=lambda half, path: os.rename(half, path)), "use os.replace"),
            (written(move=lambda half, path: shutil.move(half, path)), "shutil.move may copy"),
            (written(sync=False, late=True), "comes after os.replace"),
            (written(name=elsewhere), "in another folder"),
            (
                written(move=lambda half, path: None, clean=False),
                "rubbish in the folder: run.pt.part",
            ),
            (nothing_written, "after the call there is none"),
            (lambda path, content: directly(path, b"x" + content), "expected b'first'"),
        ],
    ),
    "13.8": Answers(
        right=[back(), back_by_hand],
        wrong=[
            (back(optimizer=False), "does not remember what it did"),
            (back(generator=False), "in another order"),
            (back(dice=False), "dropout draws other numbers"),
            (back(model=False), "the weights are not those of the file"),
            (back(plain=False), "begin with _orig_mod"),
            (back_then_thrown, "dropout draws other numbers"),
        ],
    ),
    "13.9": Answers(
        right=[migrate, migrate_a_copy],
        wrong=[
            (lambda old: migrate(old, lambda name: name.replace("fc.", "head.")), "anywhere"),
            (lambda old: migrate(old, number=1), "the old number"),
            (lambda old: migrate(old, classes=False), "left the classes out"),
            (lambda old: migrate(old | {"format": 1}), "what was new already"),
            (migrate_itself, "you changed old itself"),
            (lambda old: migrate(old)["weights"], "expected"),
        ],
    ),
    "13.10": Answers(
        right=[answer_here(), answer_from_a_twin],
        wrong=[
            (answer_here(map_location=None), "the GPU number 63"),
            (answer_here(map_location="meta"), "shapes and no numbers"),
            (answer_here(evaluate=False), "in training mode"),
            (answer_here(load=False), "the weights that it had before"),
            (lambda path, model, x: answer_here()(path, copy.deepcopy(model), x), "does not hold"),
            (lambda path, model, x: answer_here()(path, model, x) + 1, "the answer to x"),
            (lambda path, model, x: 1 / 0, "ZeroDivisionError"),
            (lambda path, model, x: model, "expected"),
        ],
    ),
}
