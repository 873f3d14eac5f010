"""First-layer scores against `transformers`, on tiny random models of every layout."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dotphase.heads import from_transformers, load

LAYOUTS = {
    "GPT2": {"n_layer": 1, "n_head": 4, "n_embd": 32, "vocab_size": 50, "n_positions": 24},
    "GPTNeoX": {
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "hidden_size": 64,
        "intermediate_size": 64,
        "vocab_size": 50,
    },
    "Llama": {
        "num_hidden_layers": 1,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "hidden_size": 64,
        "intermediate_size": 64,
        "vocab_size": 50,
    },
}
LAYOUTS["Mistral"] = LAYOUTS["Qwen2"] = LAYOUTS["Qwen3"] = LAYOUTS["Llama"]


def tiny(name, folder):
    """A random model with large weights, saved; its scores per row relative to the first key."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**LAYOUTS[name])
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    model.save_pretrained(folder)
    return model


def contrasts(scores):
    """Scores relative to the first key, below the diagonal, (n, heads, entries)."""
    i, j = np.tril_indices(scores.shape[-1])
    return (scores - scores[..., :1])[..., i, j]


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.filterwarnings("ignore")
def test_scores_are_those_of_transformers(name, tmp_path):
    model = tiny(name, tmp_path)
    ids = np.random.default_rng(0).integers(50, size=(5, 12))
    theirs = contrasts(from_transformers(model, layer=0)(ids))
    ours = load(tmp_path / "model.safetensors")
    difference = np.abs(contrasts(ours(ids)) - theirs).max()
    print(f"{name}: largest difference {difference:.1e}, scores up to {np.abs(theirs).max():.1f}")
    assert difference < 1e-4
    for head in range(ours.heads):
        np.testing.assert_allclose(
            contrasts(ours.only(head)(ids))[:, 0], theirs[:, head], atol=1e-4
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_wrong_key_head_fails(tmp_path):
    model = tiny("Llama", tmp_path)
    ids = np.random.default_rng(0).integers(50, size=(5, 12))
    theirs = contrasts(from_transformers(model, layer=0)(ids))
    ours = load(tmp_path / "model.safetensors")
    parts = ours.projections
    wrong = np.arange(8) % len(parts.W_K)  # head h with key head h, counted round
    mistaken = parts._replace(W_K=parts.W_K[wrong])
    assert np.abs(contrasts(replace(ours, projections=mistaken)(ids)) - theirs).max() > 0.1
    assert json.loads((tmp_path / "config.json").read_text())["num_key_value_heads"] == 2
