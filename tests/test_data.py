"""``data`` promises: digits without a network, workers of every kind, and one sentence per failure.

A server on this machine plays all that can go wrong with a download.
"""

import gzip
import hashlib
import http.client
import http.server
import io
import pickle
import socket
import ssl
import subprocess
import sys
import tarfile
import threading
import urllib.error
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from course_utils import data

# digits


def test_digits_are_1797_images_with_values_from_0_to_1():
    features, labels = data.digits()

    assert features.shape == (1797, 1, 8, 8) and features.dtype == torch.float32
    assert (features.min(), features.max()) == (0, 1)
    assert labels.shape == (1797,) and labels.dtype == torch.int64
    assert labels.unique().tolist() == list(range(10))


@pytest.mark.parametrize("seed", range(5))
def test_the_two_parts_make_the_whole_and_each_digit_has_its_share(seed):
    whole, labels = data.digits()
    parts = [data.digits(part, seed=seed) for part in ("train", "held out")]

    assert [len(part[1]) for part in parts] == [1437, 360]
    together = torch.cat([part[0] for part in parts]).flatten(1)
    assert torch.equal(*(rows[np.lexsort(rows.T.numpy())] for rows in
                         (together, whole.flatten(1))))  # fmt: skip
    share = labels.bincount() * 360 / 1797
    assert (parts[1][1].bincount() - share).abs().max() < 1


def test_the_same_seed_holds_out_the_same_images_and_another_does_not():
    torch.manual_seed(0)
    first = data.digits("held out")[0]
    torch.manual_seed(1)

    assert torch.equal(first, data.digits("held out")[0])
    assert not torch.equal(first, data.digits("held out", seed=1)[0])


def test_a_split_moves_no_random_generator():
    before = torch.random.get_rng_state()

    data.digits("train")

    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("part", ["all", "train"])
def test_changing_the_digits_changes_no_later_digits(part):
    data.digits(part)[0].zero_()

    assert data.digits(part)[0].sum() > 0


@pytest.mark.parametrize("held_out", [0, 6, 9])
def test_a_split_that_leaves_nothing_is_refused(held_out):
    with pytest.raises(ValueError, match="between 1 and 5"):
        data.stratified_split(torch.arange(6), held_out)


def test_an_unknown_part_is_named():
    with pytest.raises(ValueError, match=r"'test'.*held out"):
        data.digits("test")


def test_missing_scikit_learn_is_one_sentence(monkeypatch):
    data._all_digits.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)

    with pytest.raises(ModuleNotFoundError, match="come with scikit-learn, which is not installed"):
        data.digits()


def test_a_transform_meets_each_image_as_it_is_asked_for():
    features, labels = data.digits()
    images = data.Images(features, labels, transform=torch.neg)

    image, label = images[3]

    assert len(images) == 1797 and torch.equal(image, -features[3]) and label == labels[3]


def test_images_without_their_labels_are_refused():
    with pytest.raises(ValueError, match="3 images and 2 labels"):
        data.Images(torch.zeros(3, 1, 8, 8), torch.zeros(2))


WORKERS = """
import sys
import torch
from torch.utils.data import DataLoader
from course_utils import data

if __name__ == "__main__":
    images = data.Images(*data.digits("held out"), transform=torch.neg)
    loader = DataLoader(images, batch_size=90, num_workers=1, multiprocessing_context=sys.argv[1])
    print(sum(x.sum().item() for x, y in loader) == sum(x.sum().item() for x, y in
          DataLoader(images, batch_size=90)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has spawn only, and no fork")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_every_kind_load_the_images(method, tmp_path):
    program = tmp_path / "loads.py"
    program.write_text(WORKERS)

    done = subprocess.run([sys.executable, program, method], capture_output=True, text=True)

    assert done.stdout == "True\n", done.stderr


def test_the_dataset_survives_pickling():
    images = data.Images(*data.digits("held out"), transform=data._as_tensor)

    again = pickle.loads(pickle.dumps(images))

    assert torch.equal(again.features, images.features) and again.transform is data._as_tensor


# text and names


@pytest.mark.parametrize("source", ["python", "torch"])
def test_text_is_long_plain_and_the_same_each_time(source):
    text = data.text(source)

    assert len(text) > 200_000 and text.isascii() and text == data.text(source)
    assert {c for c in text if not c.isprintable()} == {"\n"}
    assert text.count(" the ") > 1000


def test_an_unknown_text_is_named():
    with pytest.raises(ValueError, match="'latin'"):
        data.text("latin")


def test_names_are_clean_sorted_and_of_several_kinds():
    names = data.names()

    assert len(names) == 6 and all(len(listed) >= 20 for listed in names.values())
    for listed in names.values():
        assert listed == sorted(set(listed)) and all(n == n.lower() and n.isascii() for n in listed)
    assert "omega" in names["greek"] and "keyboard interrupt" not in names["errors"]
    assert "value error" in names["errors"] and "json" in names["python"]


# downloads


def idx(array):
    """Write an array as MNIST's files hold it."""
    head = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return gzip.compress(head + array.tobytes(), mtime=0)


FILES = {
    "train-images-idx3-ubyte.gz": idx(np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)),
    "train-labels-idx1-ubyte.gz": idx(np.array([7, 0, 9], dtype=np.uint8)),
    "t10k-images-idx3-ubyte.gz": idx(np.zeros((1, 28, 28), dtype=np.uint8)),
    "t10k-labels-idx1-ubyte.gz": idx(np.array([4], dtype=np.uint8)),
}


class Server(http.server.BaseHTTPRequestHandler):
    """Answer as ``mode`` says."""

    mode, asked, files = "right", [], FILES

    def do_GET(self):
        """Send the file, or play a failure."""
        name = self.path.rpartition("/")[2]
        Server.asked.append(name)
        body, length = self.files[name], None
        if self.mode == "login page":
            body = b"\n<!DOCTYPE html><title>Campus login</title>"
        elif self.mode == "half a file":
            body, length = body[: len(body) // 2], len(body)
        elif self.mode == "another file":
            body = b"x" * len(body)
        elif self.mode == "hangs up":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(self.mode if isinstance(self.mode, int) else 200)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    """Run the server, and let torchvision's Fashion-MNIST live there."""
    from torchvision.datasets import FashionMNIST

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(FashionMNIST, "mirrors", [f"http://127.0.0.1:{running.server_port}/"])
    checksums = [(name, hashlib.md5(body).hexdigest()) for name, body in FILES.items()]
    monkeypatch.setattr(FashionMNIST, "resources", checksums)
    monkeypatch.setattr(Server, "mode", "right")
    monkeypatch.setattr(Server, "asked", [])
    yield running
    running.shutdown()
    running.server_close()


def left_behind(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_fashion_mnist_comes_through_torchvision_as_tensors(server, tmp_path):
    train = data.fashion_mnist(folder=tmp_path, progress=False)

    image, label = train[0]
    assert len(train) == 3 and label == 7
    assert type(image) is torch.Tensor and image.shape == (1, 28, 28)
    assert image.dtype == torch.float32 and image[0, 0, 1] == torch.tensor(1 / 255)
    assert len(data.fashion_mnist(False, folder=tmp_path, progress=False)) == 1
    assert next(iter(DataLoader(train, batch_size=3)))[0].shape == (3, 1, 28, 28)


def test_what_is_there_is_not_fetched_again(server, tmp_path):
    data.fashion_mnist(folder=tmp_path, progress=False)
    Server.asked.clear()

    data.fashion_mnist(folder=tmp_path, progress=False)

    assert Server.asked == []


FAILURES = {
    403: "will not give",
    404: "no longer",
    429: "overloaded or out of order",
    418: "answered HTTP 418",
    500: "out of order",
    503: "overloaded",
    "login page": "A web page came in place of",
    "half a file": "before the connection broke off",
    "another file": "another checksum",
    "hangs up": "broke off",
}


@pytest.mark.parametrize("mode", FAILURES)
def test_each_failure_is_one_sentence_and_leaves_nothing_behind(server, tmp_path, mode):
    Server.mode = mode

    with pytest.raises(data.DownloadError) as caught:
        data.fashion_mnist(folder=tmp_path, progress=False)

    message = str(caught.value)
    assert FAILURES[mode] in message and "\n" not in message
    assert message.endswith("the digits are on your disk.")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("mode", FAILURES)
def test_after_any_failure_the_next_try_succeeds(server, tmp_path, mode):
    Server.mode = mode
    with pytest.raises(data.DownloadError):
        data.fashion_mnist(folder=tmp_path, progress=False)

    Server.mode = "right"

    assert len(data.fashion_mnist(folder=tmp_path, progress=False)) == 3


def test_a_server_that_is_not_there_is_one_sentence(server, tmp_path, monkeypatch):
    from torchvision.datasets import FashionMNIST

    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setattr(FashionMNIST, "mirrors", [f"http://127.0.0.1:{port}/"])

    with pytest.raises(data.DownloadError, match="refused the connection"):
        data.fashion_mnist(folder=tmp_path, progress=False)
    assert left_behind(tmp_path) == []


def test_the_second_mirror_is_tried_when_the_first_fails(server, tmp_path, monkeypatch):
    from torchvision.datasets import FashionMNIST

    good = FashionMNIST.mirrors[0]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        bad = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    monkeypatch.setattr(FashionMNIST, "mirrors", [bad, good])

    assert len(data.fashion_mnist(folder=tmp_path, progress=False)) == 3


def test_a_bad_file_that_another_program_left_is_replaced(server, tmp_path):
    raw = tmp_path / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "train-images-idx3-ubyte.gz").write_text("<html>campus login</html>")

    assert len(data.fashion_mnist(folder=tmp_path, progress=False)) == 3


def test_a_half_unpacked_file_is_unpacked_again(server, tmp_path):
    data.fashion_mnist(folder=tmp_path, progress=False)
    raw = tmp_path / "FashionMNIST" / "raw"
    (raw / "train-images-idx3-ubyte").write_bytes(b"half")
    (raw / "t10k-labels-idx1-ubyte").unlink()  # what an interrupted unpacking looks like

    assert len(data.fashion_mnist(folder=tmp_path, progress=False)) == 3


def test_progress_is_shown_when_asked_for(server, tmp_path, capsys):
    data.fashion_mnist(folder=tmp_path, progress=True)

    assert "train-images-idx3-ubyte.gz: 100 %\n" in capsys.readouterr().out


def test_no_progress_is_shown_when_not(server, tmp_path, capsys):
    data.fashion_mnist(folder=tmp_path, progress=False)

    assert capsys.readouterr().out == ""


def cifar_archive():
    """Make the archive of CIFAR-10 with one image in each file."""
    members, written = {}, io.BytesIO()
    for name in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
        members[name] = {"data": np.full((1, 3072), 255, dtype=np.uint8), "labels": [3]}
    members["batches.meta"] = {"label_names": list("abcdefghij")}
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, content in members.items():
            body = pickle.dumps(content)
            entry = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
            members[name] = hashlib.md5(body).hexdigest()
    return written.getvalue(), members


@contextmanager
def cifar_at(server, monkeypatch):
    from torchvision.datasets import CIFAR10

    archive, md5 = cifar_archive()
    monkeypatch.setattr(Server, "files", {CIFAR10.filename: archive})
    monkeypatch.setattr(CIFAR10, "url", f"http://127.0.0.1:{server.server_port}/{CIFAR10.filename}")
    monkeypatch.setattr(CIFAR10, "tgz_md5", hashlib.md5(archive).hexdigest())
    lists = {"train_list": CIFAR10.train_list, "test_list": CIFAR10.test_list}
    for attribute, files in lists.items():
        monkeypatch.setattr(CIFAR10, attribute, [[name, md5[name]] for name, _ in files])
    monkeypatch.setattr(CIFAR10, "meta", CIFAR10.meta | {"md5": md5["batches.meta"]})
    yield


def test_cifar10_comes_through_torchvision_as_tensors(server, tmp_path, monkeypatch):
    with cifar_at(server, monkeypatch):
        train = data.cifar10(folder=tmp_path, progress=False)
        Server.asked.clear()
        again = data.cifar10(False, folder=tmp_path, progress=False)

    image, label = train[0]
    assert (len(train), len(again), label) == (5, 1, 3)
    assert image.shape == (3, 32, 32) and image.min() == 1 and Server.asked == []


@pytest.mark.parametrize("mode", [403, "login page", "half a file"])
def test_a_failure_of_cifar10_leaves_nothing_behind(server, tmp_path, monkeypatch, mode):
    Server.mode = mode

    with cifar_at(server, monkeypatch), pytest.raises(data.DownloadError):
        data.cifar10(folder=tmp_path, progress=False)

    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (urllib.error.URLError(ssl.SSLCertVerificationError("bad")), "Install Certificates"),
        (urllib.error.URLError(socket.gaierror(-2, "unknown")), "could not be looked up"),
        (urllib.error.URLError(TimeoutError()), "did not answer for 20 seconds"),
        (TimeoutError(), "did not answer"),
        (http.client.IncompleteRead(b""), "broke off"),
        (ConnectionResetError(), "broke off"),
        (OSError(28, "No space left on device"), "The disk is full"),
        (PermissionError(13, "Permission denied", "folder/file"), "could not be written"),
        (urllib.error.URLError("something else"), "could not be had"),
    ],
)
def test_rarer_failures_have_a_sentence_of_their_own(error, says):
    sentence = data._in_one_sentence(error, "https://example.org/x/file.gz", "file.gz")

    assert says in sentence and sentence.endswith((".", "?"))
    assert "verify=False" not in sentence and "unverified" not in sentence


@pytest.mark.parametrize("held_out", [0.25, 5.0, float("nan"), "5", None, True, [3]])
def test_a_share_is_no_count_of_rows(held_out):
    with pytest.raises(TypeError, match=r"for a quarter of 20 rows write 5"):
        data.stratified_split(torch.tensor([0, 1] * 10), held_out)


@pytest.mark.parametrize(
    "labels",
    [[0, 1] * 10, None, "abc", 5, torch.zeros(2, 10), torch.tensor(3)],
    ids=["list", "None", "text", "number", "matrix", "single"],
)
def test_labels_are_one_tensor_of_one_label_for_each_row(labels):
    with pytest.raises(TypeError, match="one label for each row"):
        data.stratified_split(labels, 2)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_labels_for_two_parts_are_counted(rows):
    with pytest.raises(ValueError, match=f"there are {rows} labels"):
        data.stratified_split(torch.zeros(rows), 1)


@pytest.mark.parametrize("ask", [data.fashion_mnist, data.cifar10])
@pytest.mark.parametrize("below", [".", "deeper/still"])
def test_a_file_in_the_place_of_the_folder_is_said_before_the_network_is_asked(
    tmp_path, ask, below
):
    (tmp_path / "file").write_text("x")

    with pytest.raises(data.DownloadError, match="is a file; let folder name a folder"):
        ask(folder=tmp_path / "file" / below, progress=False)


@pytest.mark.parametrize("ask", [data.fashion_mnist, data.cifar10])
@pytest.mark.parametrize("folder", [3, ["a"], "a\0b"])
def test_what_names_no_folder_is_refused(ask, folder):
    with pytest.raises(TypeError, match="folder must be the name of a folder"):
        ask(folder=folder, progress=False)
