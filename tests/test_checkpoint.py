"""``checkpoint`` promises: whole files only, no code from a file, and a resumed run that is exact.

The oracle of a resumed run is the same run without a stop. ``python -m tests.killed_saves 200``
kills more savers than there is time for here.
"""

import copy
import errno
import functools
import io
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from course_utils import checkpoint, training, unreadable
from course_utils.checkpoint import CheckpointError, Run
from tests.bad_files import PAYLOADS, PLAIN_FILES, WRAPPINGS, good, hostile, packed_anew, saved

ROOT = Path(__file__).resolve().parents[1]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills by SIGKILL need os.fork")


@pytest.fixture(autouse=True)
def one_thread():
    """Bits depend on the number of threads, and a killed training runs with one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)
    )


def rows():
    features = torch.rand(50, 4, generator=torch.Generator().manual_seed(1))
    return TensorDataset(features, (features.sum(1) * 0.74).long())


def new_run(optimizer=torch.optim.AdamW, schedule=None, model=None, **options):
    model = net() if model is None else model
    optimizer = optimizer(model.parameters(), lr=0.01)
    schedule = lr_scheduler.CosineAnnealingLR(optimizer, 9) if schedule is None else schedule
    schedule = schedule(optimizer) if callable(schedule) else schedule
    generator = torch.Generator().manual_seed(2)
    loader = DataLoader(rows(), batch_size=16, shuffle=True, generator=generator)
    return Run(model, optimizer, schedule, **({"loader": loader} | options))


def fit(run, epochs, report=None, **options):
    options = {"valid_loader": DataLoader(rows(), batch_size=25), "device": "cpu"} | options
    return training.fit(
        run.model,
        F.cross_entropy,
        run.optimizer,
        run.loader,
        epochs=epochs,
        schedule=run.schedule,
        history=run.history,
        report=report,
        **options,
    )


def everything(run):
    """Return all that a run consists of, random states included."""
    return copy.deepcopy(checkpoint.contents_of(run))


def equal(one, other):
    """Compare nested values; tensors must agree to the last bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        pairs = itertools.zip_longest(one, other)
        return type(one) is type(other) and all(equal(*pair) for pair in pairs)
    return one == other


def sentence(error):
    """Return an error's message after making sure that it is one sentence without a chain."""
    message = str(error.value)
    assert message.count("\n") == 0 and message.isprintable()
    assert 20 < len(message) < 240 and not message.endswith(".")
    assert error.value.__cause__ is None  # no chain of tracebacks
    assert error.value.__suppress_context__ or error.value.__context__ is None
    return message


# writing


def test_what_was_saved_is_loaded(tmp_path):
    contents = good(random={"a": torch.arange(3), "b": (1, 2.5, "c", None, [True])})

    checkpoint.save(tmp_path / "run.pt", contents)

    assert equal(checkpoint.load(tmp_path / "run.pt"), contents)
    assert os.listdir(tmp_path) == ["run.pt"]


def test_missing_folders_are_made_and_a_text_is_a_path(tmp_path):
    checkpoint.save(str(tmp_path / "runs" / "today" / "run.pt"), good())

    assert checkpoint.load(str(tmp_path / "runs" / "today" / "run.pt"))["format"] == 2


@pytest.mark.skipif(os.name != "posix", reason="making links needs rights on Windows")
def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "run.pt"
    link.symlink_to(tmp_path / "disk" / "real.pt")

    checkpoint.save(link, good())

    assert link.is_symlink()
    assert checkpoint.load(tmp_path / "disk" / "real.pt")["format"] == 2


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a file that is being read")
def test_a_reader_sees_a_whole_file_while_it_is_being_replaced(tmp_path):
    path, last, seen = tmp_path / "run.pt", 60, [0]
    checkpoint.save(path, good(random=0))

    def save_many():
        for number in range(1, last + 1):
            checkpoint.save(path, good(random=number))

    writer = threading.Thread(target=save_many)
    writer.start()
    while writer.is_alive():
        seen.append(checkpoint.load(path)["random"])
    writer.join()
    seen.append(checkpoint.load(path)["random"])

    assert seen == sorted(seen)
    assert seen[-1] == last


STEPS = ["open", "fsync", "replace"]
FAILURES = {
    "full disk": (OSError(errno.ENOSPC, "No space left on device"), "did not fit on the disk"),
    "no right": (PermissionError(errno.EACCES, "Permission denied"), "may not be written here"),
    "input or output": (OSError(errno.EIO, "Input/output error"), "was not saved (Input/output"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, step, failure
):
    path = tmp_path / "run.pt"
    checkpoint.save(path, good(random="old"))
    error, words = FAILURES[failure]

    def fails(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        if step == "open":
            patch.setattr(checkpoint, "open", fails, raising=False)
        else:
            patch.setattr(os, step, fails)
        with pytest.raises(CheckpointError) as raised:
            checkpoint.save(path, good(random="new"))

    assert words in sentence(raised)
    assert os.listdir(tmp_path) == ["run.pt"]
    assert checkpoint.load(path)["random"] == "old"


def test_a_disk_that_is_really_full_leaves_the_old_file(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "run.pt"
    checkpoint.save(path, good(random="old"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    too_large = good(random=torch.zeros(100_000))

    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(CheckpointError) as raised:
            checkpoint.save(path, too_large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert "did not fit on the disk" in sentence(raised)
    assert os.listdir(tmp_path) == ["run.pt"]
    assert checkpoint.load(path)["random"] == "old"


def test_ctrl_c_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    checkpoint.save(path, good(random="old"))

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(path, good(random="new"))

    assert os.listdir(tmp_path) == ["run.pt"]
    assert checkpoint.load(path)["random"] == "old"


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("fsync"), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("replace"), replace(*names)))

    checkpoint.save(tmp_path / "run.pt", good())

    assert done == ["fsync", "replace"] + ["fsync"] * (os.name == "posix")  # the folder's


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (good(random=np.float64(0.5)), "float(x)"),
        (good(random=Path("a")), "a safe load would refuse"),
        (good(random=nn.Linear(1, 1)), "torch.nn.modules.linear.Linear"),
        (good(random=lambda: 1), "cannot be saved"),
    ],
)
def test_what_could_not_be_loaded_again_is_not_saved(tmp_path, contents, words):
    checkpoint.save(tmp_path / "run.pt", good(random="old"))

    with pytest.raises(CheckpointError) as raised:
        checkpoint.save(tmp_path / "run.pt", contents)

    assert words in sentence(raised)
    assert checkpoint.load(tmp_path / "run.pt")["random"] == "old"


def test_what_a_killed_save_left_is_swept_up_an_hour_later_and_only_that(tmp_path):
    names = ["run.pt.aa.part", "run.pt.bb.part", "other.pt.aa.part", "run.pt.txt"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    for name in names[0], names[2], names[3]:
        os.utime(tmp_path / name, (0, 0))

    checkpoint.save(tmp_path / "run.pt", good())

    assert sorted(os.listdir(tmp_path)) == sorted([*names[1:], "run.pt"])


@pytest.mark.parametrize(
    ("place", "words"), [("folder", "is a folder"), ("file/run.pt", "a part of its path is a file")]
)
def test_a_place_that_cannot_hold_the_file_is_named(tmp_path, place, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(CheckpointError) as raised:
        checkpoint.save(tmp_path / place, good())

    assert words in sentence(raised)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@needs_fork
@pytest.mark.parametrize("kills", [12])
def test_no_kill_leaves_an_unreadable_checkpoint_or_loses_an_earlier_one(kills):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.killed_saves", str(kills)]

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert "0 unreadable checkpoints, 0 lost earlier ones" in done.stdout, done.stderr
    assert done.stdout.startswith(f"{kills} kills")


# files that are no checkpoints


TELLTALE = ("pickle.find_class", "os.mkdir", "os.system", "os.exec", "os.posix_spawn", "os.remove")
TELLTALE += ("os.fork", "subprocess.Popen", "socket.connect", "shutil.rmtree", "ctypes.dlopen")
WATCHERS = []


class watching:
    """Note the audit events of Python that a hostile file would raise."""

    def __enter__(self):
        """Start to note, with one hook for all tests, since a hook can never be taken out."""
        if not WATCHERS:
            # bound here, because the names of this module are gone when Python ends
            def note(event, _, telltale=TELLTALE, watchers=WATCHERS):
                if event in telltale:
                    watchers[-1].append(event)

            sys.addaudithook(note)
        WATCHERS.append([])
        return WATCHERS[-1]

    def __exit__(self, *_):
        """Note what comes later somewhere else."""
        WATCHERS.append([])


@pytest.mark.filterwarnings("ignore:.*TorchScript archive:UserWarning")
@pytest.mark.parametrize("kind", PLAIN_FILES)
def test_a_bad_file_gets_one_sentence_and_runs_no_code(tmp_path, kind):
    path = tmp_path / "run.pt"
    content, words = PLAIN_FILES[kind]
    path.write_bytes(content)

    with watching() as events, pytest.raises(CheckpointError) as raised:
        checkpoint.load(path)

    assert sentence(raised).startswith("run.pt ")
    assert words in str(raised.value)
    assert events == []


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_hostile_file_gets_one_sentence_and_runs_no_code(tmp_path, payload, wrapping):
    path, marker = tmp_path / "run.pt", tmp_path / "marker"
    path.write_bytes(hostile(payload, wrapping, marker))

    with watching() as events, pytest.raises(CheckpointError) as raised:
        checkpoint.load(path)

    assert sentence(raised).startswith("run.pt ")
    assert not marker.exists()
    assert events == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_file_that_asks_for_something_harmful_is_not_to_be_trusted(tmp_path, payload):
    path = tmp_path / "run.pt"
    path.write_bytes(hostile(payload, "alone", tmp_path / "marker"))

    with pytest.raises(CheckpointError, match="which can run code: nothing was run"):
        checkpoint.load(path)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_hostile_files_of_these_tests_would_run_code_where_it_is_allowed(tmp_path, payload):
    marker = tmp_path / "marker"
    content = io.BytesIO(hostile(payload, "alone", marker))

    with watching() as events:
        torch.load(content, weights_only=False)

    assert marker.exists()
    assert events != []


def test_no_switch_in_the_environment_opens_the_door(tmp_path, monkeypatch):
    path, marker = tmp_path / "run.pt", tmp_path / "marker"
    path.write_bytes(hostile("os.mkdir", "alone", marker))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")

    with pytest.raises(CheckpointError):
        checkpoint.load(path)

    assert not marker.exists()


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path):
    path, whole = tmp_path / "run.pt", saved(good())
    cuts = sorted({*range(0, len(whole), 41), *range(len(whole) - 30, len(whole))})

    for cut in cuts:
        path.write_bytes(whole[:cut])
        with pytest.raises(CheckpointError, match=r"is (cut off|empty|a text)"):
            checkpoint.load(path)


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path):
    path, contents = tmp_path / "run.pt", good(random=torch.arange(200.0))
    whole = saved(contents)

    for place in range(0, len(whole), 23):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        try:
            assert equal(checkpoint.load(path), contents)
        except CheckpointError as error:
            assert "\n" not in str(error)


def test_a_list_of_contents_written_by_chance_runs_no_code(tmp_path):
    path, whole, dice = tmp_path / "run.pt", saved(good()), random.Random(0)

    def spoil(part):
        part = bytearray(part)
        for _ in range(dice.randint(1, 6)):
            part[dice.randrange(len(part))] = dice.randrange(256)
        return bytes(part)

    with watching() as events:
        for _ in range(150):
            path.write_bytes(packed_anew(whole, spoil))
            try:
                checkpoint.load(path)
            except CheckpointError as error:
                assert str(error).isprintable()

    assert events == []


def test_a_missing_file_and_its_likely_name_are_told(tmp_path):
    checkpoint.save(tmp_path / "run_3.pt", good())

    with pytest.raises(CheckpointError) as raised:
        checkpoint.load(tmp_path / "run3.pt")
    with pytest.raises(CheckpointError, match="nor does its folder"):
        checkpoint.load(tmp_path / "nowhere" / "run.pt")

    assert "does not exist, but run_3.pt does" in sentence(raised)


def test_a_folder_is_named_as_one(tmp_path):
    with pytest.raises(CheckpointError) as raised:
        checkpoint.load(tmp_path)

    assert "is a folder" in sentence(raised)


def test_a_file_that_may_not_be_read_is_said_to_be_so(tmp_path, monkeypatch):
    checkpoint.save(tmp_path / "run.pt", good())

    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(zipfile, "ZipFile", refused)
        patch.setattr(unreadable, "open", refused, raising=False)
        with pytest.raises(CheckpointError) as raised:
            checkpoint.load(tmp_path / "run.pt")

    assert "may not be read by you" in sentence(raised)


def test_a_name_that_no_system_takes_gets_a_sentence(tmp_path):
    for name in ("a\0b", "n" * 5000):
        with pytest.raises(CheckpointError) as raised:
            checkpoint.load(tmp_path / name)

        sentence(raised)


# devices and formats


def from_a_gpu(contents):
    """Return a file as a machine with a GPU would have written it."""
    old, new = b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"
    return packed_anew(saved(contents), lambda part: part.replace(old, new))


def test_a_checkpoint_of_a_machine_with_a_gpu_opens_everywhere(tmp_path):
    (tmp_path / "run.pt").write_bytes(from_a_gpu(good(random=torch.ones(2))))

    loaded = checkpoint.load(tmp_path / "run.pt")

    assert loaded["random"].device.type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there_is_named_with_the_way_out(tmp_path):
    (tmp_path / "run.pt").write_bytes(from_a_gpu(good(random=torch.ones(2))))

    with pytest.raises(CheckpointError) as raised:
        checkpoint.load(tmp_path / "run.pt", map_location="cuda:0")

    assert "map_location='cpu'" in sentence(raised)


def test_a_checkpoint_goes_to_the_device_that_is_asked_for(tmp_path):
    checkpoint.save(tmp_path / "run.pt", good(random=torch.ones(2)))

    loaded = checkpoint.load(tmp_path / "run.pt", map_location="meta")

    assert loaded["random"].device.type == "meta"


def test_a_file_of_format_1_is_resumed(tmp_path):
    old, new = new_run(schedule=lambda optimizer: None), new_run(schedule=lambda optimizer: None)
    fit(old, 2, valid_loader=None)
    contents = {"format": 1, "losses": old.history.losses["training"]}
    contents |= {"model": old.model.state_dict(), "optimizer": old.optimizer.state_dict()}
    torch.save(contents, tmp_path / "run.pt")

    history = checkpoint.resume(tmp_path / "run.pt", new)

    assert equal(old.model.state_dict(), new.model.state_dict())
    assert history.losses == old.history.losses


def test_migrations_lead_from_each_format_to_the_next():
    assert sorted(checkpoint.MIGRATIONS) == list(range(1, checkpoint.FORMAT))


# weights, compiled or not


def compiled(model):
    return torch.compile(model, backend="eager")  # nothing is called, so nothing is compiled


def compiled_inside(model):
    model[0] = compiled(model[0])
    return model


WAYS = {"plain": lambda model: model, "compiled": compiled, "compiled inside": compiled_inside}


@pytest.mark.parametrize(("one", "other"), list(itertools.product(WAYS, WAYS)))
def test_a_run_is_resumed_whichever_model_was_compiled(tmp_path, one, other):
    old, new = (new_run(model=WAYS[way](net())) for way in (one, other))
    fit(old, 2, checkpoint.saving(tmp_path / "run.pt", old, report=None))

    checkpoint.resume(tmp_path / "run.pt", new)

    names = checkpoint.load(tmp_path / "run.pt")["states"]["model"].keys()
    best = new.history.best_weights
    assert names == net().state_dict().keys()
    assert equal(everything(new)["history"], everything(old)["history"])
    assert best.keys() == new.model.state_dict().keys()


def test_weights_with_the_prefix_of_a_compiled_model_fit_a_plain_one():
    model, trained = net(), compiled(net())
    nn.init.ones_(next(trained.parameters()))

    checkpoint.load_weights(model, trained.state_dict())

    assert model[0].weight.eq(1).all()


class Net(nn.Module):
    """A model with a name of its own for each part."""

    def __init__(self, width=3, **others):
        """Make a first layer and others."""
        super().__init__()
        self.first = nn.Linear(2, width)
        for name, part in others.items():
            self.add_module(name, part)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Net(second=nn.Linear(3, 1)), "second.bias is missing, second.weight is missing"),
        (nn.Module(), "first.bias is unknown to the model, first.weight is unknown"),
        (Net(4), "first.bias is (3,) in place of (4,), first.weight is (3, 2) in place of (4, 2)"),
        (net(), "1.bias is missing and 8 more"),
    ],
)
def test_weights_of_another_model_are_refused_with_a_few_names(model, words):
    before = copy.deepcopy(model.state_dict())

    with pytest.raises(CheckpointError) as raised:
        checkpoint.load_weights(model, Net().state_dict())

    assert words in str(raised.value) and len(str(raised.value)) < 240
    assert equal(model.state_dict(), before)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_any_more_are_refused(value):
    weights = net().state_dict()
    weights["4.weight"][0, 0] = value

    with pytest.raises(CheckpointError, match=r"spoiled: 4\.weight hold nan or inf"):
        checkpoint.load_weights(net(), weights)


def test_a_mask_with_infinities_is_no_spoiled_weight():
    model = Net()
    model.register_buffer("mask", torch.full((2,), float("-inf")))

    checkpoint.load_weights(model, copy.deepcopy(model.state_dict()))


# resuming


OPTIMIZERS = {
    "SGD": functools.partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    "Adam": torch.optim.Adam,
    "AdamW": functools.partial(torch.optim.AdamW, amsgrad=True),
    "RMSprop": functools.partial(torch.optim.RMSprop, momentum=0.5, centered=True),
    "Adagrad": torch.optim.Adagrad,
    "NAdam": torch.optim.NAdam,
}
SCHEDULES = {
    "none": lambda optimizer: None,
    "cosine": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 4),
    "steps": lambda optimizer: lr_scheduler.StepLR(optimizer, 2, 0.5),
    "one cycle": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9),
    "restarts": lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2),
    "plateau": lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer, patience=0),
    "lambda": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9**epoch),
    "two in a row": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer,
        [lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 2), lr_scheduler.ExponentialLR(optimizer, 0.8)],
        [2],
    ),
}
PAIRS = [(name, "cosine") for name in OPTIMIZERS] + [("AdamW", name) for name in SCHEDULES]


@pytest.mark.parametrize(("optimizer", "schedule"), PAIRS)
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path, optimizer, schedule):
    kinds = {"optimizer": OPTIMIZERS[optimizer], "schedule": SCHEDULES[schedule]}
    straight, stopped, resumed = new_run(**kinds), new_run(**kinds), new_run(**kinds)

    torch.manual_seed(3)
    fit(straight, 6, patience=4)
    torch.manual_seed(3)
    fit(stopped, 3, checkpoint.saving(tmp_path / "run.pt", stopped, report=None), patience=4)
    torch.manual_seed(99)
    resumed.model[0].weight.data.zero_()
    checkpoint.resume(tmp_path / "run.pt", resumed)
    fit(resumed, 6, patience=4)

    assert equal(everything(resumed), everything(straight))


def test_forgetting_any_part_of_the_file_would_be_seen(tmp_path):
    straight, stopped = new_run(), new_run()
    torch.manual_seed(3)
    fit(straight, 4)
    torch.manual_seed(3)
    fit(stopped, 2, checkpoint.saving(tmp_path / "run.pt", stopped, report=None))

    for part in ("model", "optimizer", "schedule", "loader", "torch"):
        contents, resumed = checkpoint.load(tmp_path / "run.pt"), new_run()
        torch.manual_seed(99)
        fresh = checkpoint.contents_of(resumed)
        where = "states" if part in fresh["states"] else "random"
        contents[where][part] = fresh[where][part]
        checkpoint.save(tmp_path / "less.pt", contents)
        checkpoint.resume(tmp_path / "less.pt", resumed)
        fit(resumed, 4)

        assert not equal(resumed.model.state_dict(), straight.model.state_dict()), part


def test_a_run_that_had_ended_has_not_ended_after_going_back(tmp_path):
    run = new_run()
    fit(run, 2, checkpoint.saving(tmp_path / "run.pt", run, keep=2, report=None))

    history = checkpoint.resume(tmp_path / "run-0001.pt", run)

    assert history is run.history
    assert (len(history.epochs), history.ended) == (1, "")


def test_the_generators_of_python_and_numpy_go_on_where_they_stood(tmp_path):
    run = new_run()
    np.random.standard_normal()  # leaves a second one waiting
    random.gauss(0, 1)
    checkpoint.save(tmp_path / "run.pt", checkpoint.contents_of(run))

    drawn = [(np.random.standard_normal(), random.gauss(0, 1), torch.rand(1).item())]
    checkpoint.resume(tmp_path / "run.pt", run)
    drawn += [(np.random.standard_normal(), random.gauss(0, 1), torch.rand(1).item())]

    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("in_batches", [False, True])
def test_a_sampler_with_a_generator_of_its_own_goes_on_too(tmp_path, in_batches):
    def run_with_sampler():
        sampler = RandomSampler(rows(), generator=torch.Generator().manual_seed(5))
        if in_batches:
            batches = BatchSampler(sampler, 16, drop_last=False)
            return new_run(loader=DataLoader(rows(), batch_sampler=batches))
        return new_run(loader=DataLoader(rows(), batch_size=16, sampler=sampler))

    straight, stopped, resumed = (run_with_sampler() for _ in range(3))
    torch.manual_seed(3)
    fit(straight, 3)
    torch.manual_seed(3)
    fit(stopped, 1, checkpoint.saving(tmp_path / "run.pt", stopped, report=None))
    torch.manual_seed(99)
    checkpoint.resume(tmp_path / "run.pt", resumed)
    fit(resumed, 3)

    assert equal(everything(resumed), everything(straight))


def test_two_models_with_an_optimizer_each_are_one_run(tmp_path):
    def pair():
        maker, judge = Net(), Net()
        more = {"judge": judge, "judge's optimizer": torch.optim.Adam(judge.parameters())}
        return Run(maker, torch.optim.Adam(maker.parameters()), more=more)

    old, new = pair(), pair()
    nn.init.ones_(old.more["judge"].first.weight)
    checkpoint.save(tmp_path / "run.pt", checkpoint.contents_of(old))

    checkpoint.resume(tmp_path / "run.pt", new)

    assert new.more["judge"].first.weight.eq(1).all()
    assert equal(everything(new), everything(old))


def other_optimizer():
    return new_run(optimizer=torch.optim.SGD)


def other_groups():
    run = new_run()
    run.optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})
    return run


def loader_without_generator():
    return new_run(loader=DataLoader(rows(), batch_size=16, shuffle=True))


MISFITS = {
    "other model": (lambda: new_run(model=Net()), "the weights are of another model"),
    "other optimizer": (other_optimizer, "its optimizer was AdamW, this one is SGD"),
    "other groups": (other_groups, "the optimizer had groups of [6] weights, this one has [6, 1]"),
    "other schedule": (
        lambda: new_run(schedule=SCHEDULES["steps"]),
        "its schedule was CosineAnnealingLR, this one is StepLR",
    ),
    "no schedule": (
        lambda: new_run(schedule=SCHEDULES["none"]),
        "it holds model, optimizer, schedule, the run has model, optimizer",
    ),
    "loader without generator": (loader_without_generator, "its loader had 1 generators"),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_a_checkpoint_of_another_run_is_refused_and_the_run_stays_as_it_was(tmp_path, misfit):
    make, words = MISFITS[misfit]
    checkpoint.save(tmp_path / "run.pt", checkpoint.contents_of(new_run()))
    run = make()
    before = everything(run)

    with pytest.raises(CheckpointError) as raised:
        checkpoint.resume(tmp_path / "run.pt", run)

    assert sentence(raised).startswith("run.pt does not fit: ")
    assert words in str(raised.value)
    assert equal(everything(run), before)


NONSENSE = [7, "text", [], {}, {"loader": 1}, {"model": {"0.weight": 1}}]
NO_SENSE = [("kinds", nonsense) for nonsense in NONSENSE[:3]]  # an unknown kind is no nonsense
NO_SENSE += itertools.product(["states", "history", "random"], NONSENSE)


@pytest.mark.parametrize(("part", "nonsense"), NO_SENSE)
def test_a_part_that_makes_no_sense_gets_a_sentence(tmp_path, part, nonsense):
    contents = checkpoint.contents_of(new_run()) | {part: nonsense}
    checkpoint.save(tmp_path / "run.pt", contents)

    with pytest.raises(CheckpointError) as raised:
        checkpoint.resume(tmp_path / "run.pt", new_run())

    sentence(raised)


# saving while training


def test_each_epoch_is_saved_before_it_is_reported(tmp_path):
    run, seen = new_run(), []

    def report(epoch):
        saved_epochs = checkpoint.load(tmp_path / "run.pt")["history"]["epochs"]
        seen.append((epoch.number, len(saved_epochs)))

    fit(run, 3, checkpoint.saving(tmp_path / "run.pt", run, report=report))

    assert seen == [(1, 1), (2, 2), (3, 3)]
    assert os.listdir(tmp_path) == ["run.pt"]


def test_the_last_few_are_kept_in_order_and_others_are_left_alone(tmp_path):
    (tmp_path / "run-old.pt").write_bytes(b"mine")
    run = new_run()

    fit(run, 12, checkpoint.saving(tmp_path / "run.pt", run, keep=3, report=None))

    kept = [file.name for file in checkpoint.numbered(tmp_path / "run.pt")]
    assert kept == ["run-0010.pt", "run-0011.pt", "run-0012.pt"]
    assert (tmp_path / "run-old.pt").exists()


def test_the_best_weights_are_in_every_later_file(tmp_path):
    run = new_run()
    path = tmp_path / "run.pt"

    fit(run, 5, checkpoint.saving(path, run, keep=1, report=None))

    best = checkpoint.load(checkpoint.numbered(path)[-1])["history"]["best_weights"]
    assert equal(best, dict(run.history.best_weights))


def test_a_fresh_run_loses_no_file_to_those_of_an_earlier_one(tmp_path):
    path, earlier = tmp_path / "run.pt", new_run()
    fit(earlier, 5, checkpoint.saving(path, earlier, keep=2, report=None))
    before = {file: file.read_bytes() for file in checkpoint.numbered(path)}

    with pytest.raises(ValueError, match=r"run-0005.pt is of a later epoch .* resume from it, or"):
        checkpoint.saving(path, new_run(), keep=2, report=None)

    assert {file: file.read_bytes() for file in checkpoint.numbered(path)} == before
    assert len(before) == 2


@pytest.mark.parametrize("keep", [0, -1, 2.0, "2"])
def test_what_counts_no_files_is_refused_before_the_first_epoch(tmp_path, keep):
    with pytest.raises(ValueError, match="keep counts files, from 1 on"):
        checkpoint.saving(tmp_path / "run.pt", new_run(), keep=keep)


@pytest.mark.parametrize("keep", [None, 2])
def test_a_training_without_the_runs_history_is_not_saved_in_silence(tmp_path, keep):
    run = new_run()
    report = checkpoint.saving(tmp_path / "run.pt", run, keep=keep, report=None)

    with pytest.raises(ValueError, match=r"hand history=run\.history to fit"):
        training.fit(run.model, F.cross_entropy, run.optimizer, run.loader,
                     epochs=1, device="cpu", report=report)  # fmt: skip

    assert list(tmp_path.iterdir()) == []


def train_until_killed(folder, kills):
    """Fork a training for each number in ``kills``, which dies at its so many-th batch."""
    new_run()  # imports what an optimizer needs, once for all children
    for batches in kills:
        child = os.fork()
        if child == 0:
            left = itertools.count(batches, -1)
            run = new_run()
            run.model.register_forward_hook(
                lambda model, *_: (
                    os.kill(os.getpid(), signal.SIGKILL)
                    if model.training and next(left) == 1  # noqa: B023
                    else None
                )
            )
            torch.manual_seed(3)
            fit(run, 6, checkpoint.saving(Path(folder, f"{batches}.pt"), run, report=None))
            os._exit(1)
        os.waitpid(child, 0)


@needs_fork
def test_a_training_that_was_killed_goes_on_as_if_nothing_had_happened(tmp_path):
    kills, straight = (5, 8, 9, 14, 23), new_run()
    torch.manual_seed(3)
    fit(straight, 6)

    code = f"from tests.test_checkpoint import *; train_until_killed({str(tmp_path)!r}, {kills})"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)

    for batches in kills:
        resumed = new_run()
        history = checkpoint.resume(tmp_path / f"{batches}.pt", resumed)
        assert len(history.epochs) == (batches - 1) // 4
        fit(resumed, 6)
        assert equal(everything(resumed), everything(straight)), batches


def test_before_the_first_save_no_file_is_numbered(tmp_path):
    assert checkpoint.numbered(tmp_path / "runs" / "run.pt") == []


def test_a_name_from_a_file_cannot_play_tricks_on_the_screen(tmp_path):
    trick = "\x1b[2J" + "long" * 99
    contents = checkpoint.contents_of(new_run())
    wrong_weights = copy.deepcopy(contents)
    wrong_weights["states"]["model"][trick] = torch.zeros(1)
    wrong_kind = contents | {"kinds": {"optimizer": trick}}
    wrong_part = contents | {"states": contents["states"] | {trick: {}}}

    for wrong in (wrong_weights, wrong_kind, wrong_part):
        checkpoint.save(tmp_path / "run.pt", wrong)
        with pytest.raises(CheckpointError) as raised:
            checkpoint.resume(tmp_path / "run.pt", new_run())

        assert "\\x1b[2J" in sentence(raised)
