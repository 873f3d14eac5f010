"""Training says what it has learned, and a comparison says when that is not what the theory has."""

import dotphase
from dotphase import attentions


def test_training_names_its_mechanism_seed_by_seed():
    semantic = dotphase.train(dotphase.paper(alpha=2, omega=0.3), d=300, seeds=2)
    assert semantic.mechanisms == ("semantic", "semantic")
    few = dotphase.paper(alpha=1, omega=0.3)
    assert dotphase.train(few, d=300, start="positional", seeds=1).mechanisms == ("positional",)


def test_a_comparison_with_a_saddle_says_where_training_ended():
    rank_two = dotphase.paper(alpha=2, omega=0.3).vary(student=attentions.softmax(rank=2))
    found = dotphase.compare(rank_two, d=200, seeds=1, starts=["semantic"])
    assert found.trained["semantic"].mechanisms == ("mixed",)
    assert "training ended elsewhere: mixed (seed 0). It is a saddle." in str(found)
    assert found.to_dict()["outcome"]["semantic"]["training_mechanisms"] == ["mixed"]


def test_a_comparison_of_the_right_mechanism_says_nothing():
    found = dotphase.compare(
        dotphase.paper(alpha=2, omega=0.3), d=200, seeds=1, starts=["semantic"]
    )
    assert "elsewhere" not in str(found)
