"""Measuring heads, loading them from files, and what is refused."""

import json
import pickle
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.heads import from_transformers, load, measure, read_ids

V, D, L = 15, 8, 6


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def ids(rng):
    return rng.integers(V, size=(240, L))


def save(folder, **changed):
    """Arrays of two heads: one sees positions only, one words only."""
    rng = np.random.default_rng(0)
    half = np.eye(D)[:, : D // 2], np.eye(D)[:, D // 2 :]
    arrays = {
        "E": rng.standard_normal((V, D)) * (np.arange(D) < D // 2),
        "P": rng.standard_normal((10, D)) * (np.arange(D) >= D // 2),
        "W_Q": np.stack([half[1], half[0]]),
        "W_K": np.stack([half[1], half[0]]) @ rng.standard_normal((D // 2, D // 2)),
    }
    path = folder / "model.npz"
    np.savez(path, **{k: v for k, v in (arrays | changed).items() if v is not None})
    return path


def test_two_heads_of_arrays(tmp_path, ids):
    found = measure(load(save(tmp_path)), ids)
    assert [v.word for v in found.verdicts] == ["positional", "semantic"]
    assert found.causal
    np.testing.assert_allclose(found.position.value, [1, 0], atol=1e-5)
    np.testing.assert_allclose(found.content.value, [0, 1], atol=1e-5)
    np.testing.assert_allclose(found.permutation.positional.value[0], 1)
    np.testing.assert_allclose(found.permutation.symbolic.value[1], 1)
    one = measure(load(tmp_path / "model.npz").only(1), ids)
    assert one.verdict.word == "semantic"
    assert one.content.value[0] == pytest.approx(found.content.value[1])
    assert "semantic" in str(one)
    json.dumps(found.to_dict())
    for figure in (found.plot(), one.plot(), found.plot(1)):
        assert figure.axes


def test_recorded_scores_and_patterns(tmp_path, ids):
    head = load(save(tmp_path))
    scores = head(ids)
    recorded = measure(scores, ids)
    patterns = measure(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True), ids)
    live = measure(head, ids)
    assert recorded.permutation is None
    for other in (recorded, patterns):
        np.testing.assert_allclose(other.position.value, live.position.value, atol=1e-6)
        np.testing.assert_allclose(other.content.error, live.content.error, atol=1e-6)


def test_layers_get_names(ids):
    scores = np.random.default_rng(0).standard_normal((len(ids), 2, 3, L, L))
    found = measure(scores, ids)
    assert found.names == ("0.0", "0.1", "0.2", "1.0", "1.1", "1.2")
    assert not found.causal
    assert found.plot().axes


def run(*arguments):
    return CliRunner().invoke(app, ["heads", *map(str, arguments)])


def test_command(tmp_path, ids):
    np.save(tmp_path / "ids.npy", ids)
    picture = tmp_path / "heads.png"
    found = run(save(tmp_path), "--text", tmp_path / "ids.npy", "--json", "--out", picture)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["names"] == ["0", "1"]
    assert picture.stat().st_size > 1000
    written = tmp_path / "ids.txt"
    written.write_text(" ".join(map(str, ids.ravel())))
    again = run(tmp_path / "model.npz", "--text", written, "--length", L, "--head", 1)
    assert again.exit_code == 0, again.output
    assert "semantic" in again.output


def bad_files(folder):
    """Files that cannot be measured, and a part of the line each gives."""
    rng = np.random.default_rng(1)
    broken = rng.standard_normal((V, D))
    broken[3] = np.nan
    (folder / "model.pkl").write_bytes(pickle.dumps({"W_Q": 1}))
    yield folder / "model.pkl", "expected a file ending in .safetensors or .npz"
    yield folder / "absent.npz", "No such file"
    for name, changed, message in (
        ("missing", {"W_K": None}, "no .*config.json"),
        ("shape", {"W_K": np.zeros((D + 1, 4))}, "W_K is .* expected"),
        ("nan", {"E": broken}, "embedding of token 3 is not finite"),
        ("weights", {"W_Q": np.full((D, 4), np.nan)}, "not a number"),
        ("objects", {"W_Q": np.array([{}, {}], dtype=object)}, "Python objects"),
        ("few", {"E": rng.standard_normal((4, D))}, "token 14 is out of range"),
        ("places", {"P": np.zeros((2, D))}, "the model has 2 positions"),
    ):
        place = folder / name
        place.mkdir()
        yield save(place, **changed), message
    place = folder / "gpt2"
    place.mkdir()
    (place / "config.json").write_text('{"model_type": "gpt2", "n_head": 2}')
    np.savez(
        place / "model.npz", **{"wte.weight": np.zeros((V, D)), "wpe.weight": np.zeros((9, D))}
    )
    yield place / "model.npz", "there is no tensor 'h.0.attn.c_attn.weight'"


def test_bad_files_are_one_line(tmp_path, ids):
    import re

    text = tmp_path / "ids.npy"
    np.save(text, ids)
    for file, message in bad_files(tmp_path):
        found = run(file, "--text", text)
        assert found.exit_code == 2, (file, found.output)
        assert re.search(message, found.stderr), found.stderr
        assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.zeros((1, L), int), "at least 8"),
        (np.zeros((50, 1), int), "two others"),
        (np.full((50, L), -1), "out of range"),
        (np.zeros((50, L)), "expected token ids"),
    ],
)
def test_bad_sentences_are_one_line(tmp_path, ids, message):
    np.save(tmp_path / "ids.npy", ids)
    found = run(save(tmp_path), "--text", tmp_path / "ids.npy")
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_five_gigabytes_are_mapped(tmp_path):
    """A sparse file with an embedding of five gigabytes: only the rows that occur are read."""
    import tracemalloc

    words, width = 1_250_000, 1024
    sizes = {
        "wte.weight": (words, width),
        "wpe.weight": (16, width),
        "h.0.ln_1.weight": (width,),
        "h.0.ln_1.bias": (width,),
        "h.0.attn.c_attn.weight": (width, 3 * width),
        "h.0.attn.c_attn.bias": (3 * width,),
    }
    header, at = {}, 0
    for name, shape in sizes.items():
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    written = json.dumps(header).encode()
    file = tmp_path / "model.safetensors"
    with file.open("wb") as out:
        out.write(len(written).to_bytes(8, "little") + written)
        out.truncate(8 + len(written) + at)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_head": 8}')
    assert file.stat().st_size > 5e9
    tracemalloc.start()
    scores = load(file)(np.array([[0, words - 1, 5, 7]]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores.shape == (1, 8, 4, 4)
    assert peak < 2e8


def test_text_needs_a_vocabulary(tmp_path):
    (tmp_path / "text.txt").write_text("some words here")
    with pytest.raises(ValueError, match="no vocabulary"):
        read_ids(load(save(tmp_path)), tmp_path / "text.txt")


def test_a_function_of_the_wrong_shape_is_refused(ids):
    with pytest.raises(ValueError, match="expected scores"):
        measure(lambda ids: np.zeros((len(ids), L)), ids)
    with pytest.raises(ValueError, match="is not finite"):
        measure(lambda ids: np.full((len(ids), L, L), np.nan), ids, causal=False)


def test_the_shipped_heads(tmp_path):
    """The tutorial's model: words from its own vocabulary, text from anywhere."""
    from dotphase.heads import shipped

    model = shipped()
    found = measure(model, read_ids(model)[:500], words=model.words, permutations=1)
    assert [verdict.word for verdict in found.verdicts] == ["both"] * 4
    assert found.strongest(0, 1)[0][0] in model.words


def test_the_language_model_learns_and_continues(tmp_path):
    from dotphase.heads.language_model import Model
    from dotphase.heads.training import train_language

    model = Model(words=60, length=6, heads=2, width=8, hidden=8, batch=16)
    whole = train_language(model, 3000, 30, (0, 1), tmp_path)
    assert (whole.held_out_loss[:, -1] < whole.held_out_loss[:, 0]).all()
    np.testing.assert_allclose(whole.position + whole.content + whole.rest, 1)
    (tmp_path / "3000-30.npz").unlink()  # as if stopped before the last record
    again = train_language(model, 3000, 30, (0, 1), tmp_path)
    assert again == whole
    with pytest.raises(ValueError, match="another model"):
        train_language(
            Model(words=60, length=6, heads=2, width=8, hidden=9, batch=16),
            3000,
            30,
            (0, 1),
            tmp_path,
        )


def test_rotations_are_those_of_complex_numbers():
    from dotphase.heads.layouts import Rotary, rotated

    v = np.random.default_rng(0).standard_normal((3, 5, 10))
    z = v[..., :4] + 1j * v[..., 4:8]
    turned = z * np.exp(1j * np.arange(5)[:, None] * 100.0 ** (-np.arange(4) / 4))
    expected = np.concatenate([turned.real, turned.imag, v[..., 8:]], -1)
    np.testing.assert_allclose(rotated(v, Rotary(8, 100.0)), expected, atol=1e-14)


def test_a_rotary_language_model_is_read_back(tmp_path):
    """Two layers, rotary encodings: it learns, its scores depend on the distance of two places only
    through the words, and `load` gives the first layer's scores."""
    import jax

    from dotphase.heads.language_model import Model, Weights, forward
    from dotphase.heads.training import save_heads, texts, train_language

    model = Model(words=100, length=8, layers=2, heads=2, width=16, hidden=16, positions="rotary")
    run = train_language(model, 3000, 20, (0, 1))
    assert run.train_loss[0, -1] < np.log(100)
    assert run.position.shape[-1] == 4
    save_heads(tmp_path / "heads.npz", run, texts(model)[2].words)
    ids = np.random.default_rng(0).integers(100, size=(5, 8))
    with jax.enable_x64(False):
        weights = Weights(**{name: array[0] for name, array in run.weights.items()})
        scores = np.asarray(forward(weights, ids)[1])[:, 0]
    found = load(tmp_path / "heads.npz")(ids)
    seen = np.tri(8, dtype=bool)
    np.testing.assert_allclose(found[..., seen], scores[..., seen], atol=1e-4)
    same = np.asarray(forward(weights, np.full((1, 8), 7))[1])[0, 0]
    for head in same:
        np.testing.assert_allclose(np.diagonal(head, -2), head[2, 0], atol=1e-4)
    with pytest.raises(ValueError, match="positions: expected learned or rotary"):
        Model(positions="none")


def test_a_layer_that_a_model_does_not_have(monkeypatch):
    """Without torch: what `from_transformers` asks of it, in NumPy."""

    class Torch(SimpleNamespace):
        no_grad = staticmethod(nullcontext)

    torch = Torch(long=int, as_tensor=lambda ids, **_: ids, log=np.log)
    torch.stack = lambda listed, axis: Held(np.stack(listed, axis))

    class Held(np.ndarray):
        def __new__(cls, values):
            return np.asarray(values).view(cls)

        float = cpu = lambda self: self
        numpy = lambda self: np.asarray(self)

    class Model:
        device = "cpu"

        def eval(self):
            pass

        def __call__(self, ids, output_attentions):
            layers = [np.full((len(ids), 1, 3, 3), 1.0 + k) for k in range(2)]
            return SimpleNamespace(attentions=layers)

    torch.log = lambda values: Held(np.log(values))
    monkeypatch.setitem(sys.modules, "torch", torch)
    ids = np.zeros((4, 3), int)
    assert from_transformers(Model())(ids).shape == (4, 2, 1, 3, 3)
    np.testing.assert_allclose(from_transformers(Model(), layer=1)(ids), np.log(2.0))
    for layer in (-1, 2):
        with pytest.raises(ValueError, match=f"layer: expected 0 to 1, got {layer}"):
            from_transformers(Model(), layer=layer)(ids)
