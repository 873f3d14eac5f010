"""Pictures are drawn with letters on the axes, equal letters framed, answers beside, and fixed
colours."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from dotphase.counting import count_letters, perform, read_sentence
from dotphase.counting.epochs import Recipe
from dotphase.counting.plots import COLOURS, learning_curves, mechanism_plane
from dotphase.counting.show import look
from dotphase.counting.summary import summarise

SENTENCE = "BAADEA"


@pytest.fixture(scope="module")
def view(learnt):
    operated = perform(learnt["semantic"], None, Recipe("sgd", epochs=1))
    return look([(learnt["semantic"], operated), (learnt["positional"], None)], SENTENCE, seed=1)


def test_every_panel_has_its_letters_frames_and_answers(view):
    panels = [axes for axes in view.figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == [
        "semantic, seed 1", "semantic, seed 1, after surgery", "positional, seed 1"
    ]  # fmt: skip
    for axes in panels:
        assert "".join(label.get_text() for label in axes.get_xticklabels()) == SENTENCE
        assert "".join(label.get_text() for label in axes.get_yticklabels()) == SENTENCE
        frames = {tuple(np.add(p.get_xy(), 0.5)) for p in axes.patches if isinstance(p, Rectangle)}
        equal = {(j, i) for i in range(6) for j in range(6) if SENTENCE[i] == SENTENCE[j]}
        assert frames == equal


def test_the_view_tells_counts_and_answers(view, learnt):
    assert view.sentence == SENTENCE
    assert (
        view.counts
        == count_letters(read_sentence(SENTENCE, learnt["semantic"].experiment.task)).tolist()
    )
    assert set(view.answers) == {
        "semantic, seed 1",
        "semantic, seed 1, after surgery",
        "positional, seed 1",
    }
    assert all(len(answer) == 6 for answer in view.answers.values())


def test_all_panels_share_one_scale(view):
    limits = {
        axes.images[0].get_clim() for axes in view.figure.axes if axes.images and axes.get_title()
    }
    assert len(limits) == 1


def test_nothing_is_clipped(view, learnt, tmp_path):
    """Every title, tick and label lies within the picture."""
    for figure in (view.figure, learning_curves(list(learnt.values()))):
        figure.savefig(tmp_path / "picture.png")
        width, height = figure.canvas.get_width_height()
        for axes in figure.axes:
            box = axes.get_tightbbox()
            assert box is not None
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= width
            assert box.y1 <= height


def test_curves_carry_the_colours_of_their_mechanisms(learnt):
    figure = learning_curves(list(learnt.values()))
    colours = {line.get_label(): line.get_color() for line in figure.axes[0].lines}
    assert colours["semantic, validation"] == COLOURS["semantic"]
    assert colours["positional, validation"] == COLOURS["positional"]


def test_the_plane_puts_each_mechanism_on_its_side(learnt):
    groups = {
        m: (COLOURS[m], [seed.scores for seed in summarise(run).seeds]) for m, run in learnt.items()
    }
    points = {
        c.get_label(): c.lines[0].get_xydata() for c in mechanism_plane(groups).axes[0].containers
    }
    assert (points["semantic"][:, 0] > points["semantic"][:, 1]).all()
    assert (points["positional"][:, 0] < points["positional"][:, 1]).all()


def test_unknown_seeds_and_mixed_tasks_are_refused(learnt):
    with pytest.raises(ValueError, match="no seed 7 in a run of seeds 0, 1, 2"):
        look([(learnt["semantic"], None)], SENTENCE, seed=7)
