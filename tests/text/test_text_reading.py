"""Words, vectors, files: what comes in, and what is refused."""

import json
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from dotphase.text.arrays import open_array
from dotphase.text.embedding import neighbours, positive_information
from dotphase.text.reading import read_embeddings, read_text
from dotphase.text.sentences import Sentences, load_sentences
from dotphase.text.words import Corpus, keep_frequent, pieces_of_file, read_words, words_of


def test_a_word_on_the_border_of_two_pieces_is_one_word():
    assert list(words_of(["Don't st", "op, a1b ", "Größe_2 end"])) == [
        "don't",
        "stop",
        "a",
        "b",
        "größe",
        "end",
    ]


def test_words_are_numbered_by_frequency(tmp_path):
    (tmp_path / "a.txt").write_text("b a b c b a")
    corpus = read_words([tmp_path / "a.txt"])
    assert corpus.words == ["b", "a", "c"]
    np.testing.assert_array_equal(corpus.documents[0], [0, 1, 0, 2, 0, 1])
    kept = keep_frequent(corpus, least=2, most=10)
    assert kept.words == ["b", "a"]
    np.testing.assert_array_equal(kept.documents[0], [0, 1, 0, 0, 1])


def test_neighbours_are_counted_both_ways_and_not_across_documents():
    corpus = Corpus([np.array([0, 1, 2]), np.array([2, 0])], ["a", "b", "c"])
    np.testing.assert_array_equal(
        neighbours(corpus, 1).toarray(), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    )
    np.testing.assert_array_equal(
        neighbours(corpus, 2).toarray(), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    )


def test_positive_information_is_what_it_says():
    n = np.array([[4.0, 1.0], [1.0, 0.0]])
    from scipy.sparse import csr_array

    expected = np.log(n[0, 1] * 6 / (5 * 1))
    np.testing.assert_allclose(
        positive_information(csr_array(n)).toarray(), [[0, expected], [expected, 0]]
    )


@pytest.fixture(scope="module")
def sentences() -> Sentences:
    return read_text(dimension=30, length=2, least=20)


def test_the_default_corpus_needs_no_download(sentences):
    assert sentences.count > 20_000
    assert sentences.dimension == 30
    assert sentences.words[0] == "the"
    assert sentences.deviation == pytest.approx(0.5)
    mean = sentences.frequency @ sentences.embeddings
    assert np.abs(mean).max() < 1e-12
    again = read_text(dimension=30, length=2, least=20)
    np.testing.assert_allclose(np.abs(again.embeddings), np.abs(sentences.embeddings), atol=1e-7)


def test_what_can_be_done_to_sentences(sentences):
    white = sentences.whitened()
    np.testing.assert_allclose(white.covariance, 0.25 * np.eye(30), atol=1e-10)
    dealt = sentences.shuffled(1)
    np.testing.assert_array_equal(np.sort(dealt.ids.ravel()), np.sort(sentences.ids.ravel()))
    assert (dealt.ids != sentences.ids).mean() > 0.5
    alone = sentences.without_repeats()
    assert (alone.ids[:, 0] != alone.ids[:, 1]).all()
    assert len(np.unique(alone.ids, axis=0)) == alone.count < sentences.count
    once = sentences.every_word_once()
    assert len(np.unique(once.ids)) == once.ids.size
    lengths = lambda x: np.linalg.norm(x.embeddings, axis=1)
    np.testing.assert_allclose(lengths(sentences.gaussian_words()), lengths(sentences))
    assert np.ptp(lengths(sentences.equal_lengths())) < 1e-9
    assert "whitened" in white.provenance["done"]


def test_sentences_survive_a_file_with_no_pickle_in_it(tmp_path, sentences):
    sentences.save(tmp_path / "tokens.npz")
    back = load_sentences(tmp_path / "tokens.npz")
    np.testing.assert_array_equal(back.embeddings, sentences.embeddings)
    np.testing.assert_array_equal(back.ids, sentences.ids)
    assert back.words == sentences.words
    assert back.provenance == sentences.provenance
    assert isinstance(back.embeddings, np.memmap)
    assert (tmp_path / "tokens.npz").stat().st_size < 3 * (
        sentences.embeddings.nbytes + sentences.ids.nbytes
    )
    np.testing.assert_array_equal(
        back.tokens(np.array([3, 5])), sentences.embeddings[sentences.ids[[3, 5]].T]
    )


# -------------------------------------------------------------------------------- one's own vectors


def safetensors(path, arrays, types):
    header, data = {}, b""
    for name, array in arrays.items():
        raw = array.tobytes()
        header[name] = {
            "dtype": types[name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data + raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def own(tmp_path):
    random = np.random.default_rng(0)
    matrix, ids = random.standard_normal((40, 6)).astype(np.float32), random.integers(0, 40, 501)
    np.save(tmp_path / "E.npy", matrix)
    np.save(tmp_path / "ids.npy", ids)
    return tmp_path, matrix, ids


def test_every_format_gives_the_same_sentences(own):
    folder, matrix, ids = own
    expected = read_embeddings(folder / "E.npy", folder / "ids.npy", length=2)
    assert (expected.count, expected.dimension) == (250, 6)
    np.savez(folder / "E.npz", weight=matrix, other=ids)
    np.savez_compressed(folder / "small.npz", matrix)
    safetensors(folder / "E.safetensors", {"w": matrix, "ids": ids}, {"w": "F32", "ids": "I64"})
    for name in ("E.npz:weight", "small.npz", "E.safetensors:w"):
        found = read_embeddings(folder / name, folder / "ids.npy", length=2)
        np.testing.assert_allclose(found.embeddings, expected.embeddings)
        np.testing.assert_array_equal(found.ids, expected.ids)
    assert isinstance(open_array(folder / "E.npz", "weight"), np.memmap)


def test_half_precision_of_the_other_kind_is_read(own):
    folder, matrix, _ = own
    halves = (matrix.view(np.uint32) >> 16).astype(np.uint16)
    safetensors(folder / "b.safetensors", {"w": halves}, {"w": "BF16"})
    found = read_embeddings(folder / "b.safetensors", folder / "ids.npy", length=2)
    full = read_embeddings(folder / "E.npy", folder / "ids.npy", length=2)
    np.testing.assert_allclose(found.embeddings, full.embeddings, atol=0.02)


def test_leading_directions_are_kept(own):
    folder, *_ = own
    whole = read_embeddings(folder / "E.npy", folder / "ids.npy", length=2)
    part = read_embeddings(folder / "E.npy", folder / "ids.npy", 3, length=2)
    values = np.linalg.eigvalsh(whole.covariance)[::-1]
    kept = np.linalg.eigvalsh(part.covariance)[::-1]
    np.testing.assert_allclose(kept / kept[0], values[:3] / values[0])


LIMITED = """
import resource, sys
import numpy as np
from dotphase.text import read_embeddings
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = read_embeddings(sys.argv[1], sys.argv[2], 8, length=2)
print(found.count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_matrix_of_two_gigabytes_takes_little_memory(tmp_path):
    """A sparse file: (2^22, 128) single-precision numbers, of which some hundred rows are used."""
    pytest.importorskip("resource")
    shape, random = (2**22, 128), np.random.default_rng(0)
    with open(tmp_path / "E.npy", "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        first = file.tell()
        file.truncate(first + 4 * shape[0] * shape[1])
    rows = random.choice(shape[0], 300, replace=False)
    mapped = np.memmap(tmp_path / "E.npy", "<f4", "r+", first, shape)
    mapped[rows] = random.standard_normal((300, 128))
    del mapped
    np.save(tmp_path / "ids.npy", random.choice(rows, 4000))
    assert (tmp_path / "E.npy").stat().st_size > 2e9
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "E.npy"), str(tmp_path / "ids.npy")]
    count, kilobytes = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(count) == 2000
    assert int(kilobytes) * (1 if sys.platform != "darwin" else 1e-3) < 200_000


# ------------------------------------------------------------------------------------------ refused


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no words"),
        (b"1 2 3 ...", "no words"),
        (b"\x7fELF\x00\x01", "binary"),
        (b"\xff\xfeno", "not UTF-8"),
        (b"one", "too short for a sentence of 2 tokens"),
        (b"one two three", "different words"),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_text(write(tmp_path / "a.txt", content), dimension=4, least=1)


def test_a_piece_that_ends_inside_a_letter_is_no_error(tmp_path, monkeypatch):
    from dotphase.text import words

    monkeypatch.setattr(words, "PIECE", 1)
    assert "".join(pieces_of_file(write(tmp_path / "a.txt", "größe".encode()))) == "größe"


def refused(folder, ids=None, matrix=None, message="", **options):
    if matrix is not None:
        np.save(folder / "E.npy", matrix)
    if ids is not None:
        np.save(folder / "ids.npy", ids)
    with pytest.raises(ValueError, match=message) as error:
        read_embeddings(folder / "E.npy", folder / "ids.npy", **options)
    assert "\n" not in str(error.value)


def test_matrices_and_ids_that_cannot_be_are_refused(own):
    folder, matrix, ids = own
    broken = matrix.copy()
    broken[ids[0], 2] = np.nan
    refused(folder, matrix=broken, message=f"row {ids[0]} holds")
    refused(folder, matrix=matrix, ids=ids + 30, message="out of range")
    refused(folder, ids=ids - 1, message="token -1 is out of range")
    refused(folder, ids=ids.astype(float), message="whole numbers")
    refused(folder, ids=ids[:1], message="too short")
    refused(folder, ids=ids[:500].reshape(-1, 5), message="--length is 2")
    refused(folder, ids=ids, dimension=7, message="6 columns")
    refused(folder, matrix=0 * matrix, message="zero")
    refused(folder, matrix=matrix[0], message="matrix")


def test_a_row_that_does_not_occur_may_be_anything(own):
    folder, matrix, _ = own
    matrix = np.vstack([matrix, np.full((1, 6), np.nan, np.float32)])
    np.save(folder / "E.npy", matrix)
    assert read_embeddings(folder / "E.npy", folder / "ids.npy").count == 250


def test_a_wrong_name_is_told_the_right_ones(tmp_path):
    np.savez(tmp_path / "one.npz", weight=np.eye(3))
    with pytest.raises(ValueError, match=r"it has no array 'bias'; it has weight$"):
        open_array(tmp_path / "one.npz", "bias")


def test_pickles_and_broken_files_are_refused(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", np.array([{"a": 1}], dtype=object))
    for name in ("o.npy", "o.npz"):
        with pytest.raises(ValueError, match=r"cannot be read|objects"):
            open_array(tmp_path / name)
    with pytest.raises(ValueError, match="safetensors"):
        open_array(write(tmp_path / "x.safetensors", b"\xff" * 64))
    with pytest.raises(ValueError, match="expected a file ending"):
        open_array(tmp_path / "x.bin")
    with pytest.raises(ValueError, match="not a file that"):
        load_sentences(write(tmp_path / "x.npz", b"PK no"))
    with zipfile.ZipFile(tmp_path / "y.npz", "w") as file:
        file.writestr("a.txt", "b")
    with pytest.raises(ValueError, match="not a file that"):
        load_sentences(tmp_path / "y.npz")
