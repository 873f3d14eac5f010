"""Functions that are the same share a compilation; those that may differ do not."""

import sys
from types import ModuleType

import jax.numpy as jnp
import numpy as np

import dotphase
from dotphase.scenario.attentions.equality import by_content
from dotphase.scenario.attentions.symmetry import symmetries

SCALE = 2.0


def same(one, other):
    return by_content(one) == by_content(other)


def made(factor):
    return lambda h: factor * jnp.cos(h @ h.T)


def helped(factor):
    inner = made(factor)
    return lambda h: inner(h) + 1


def test_equal_code_and_equal_constants_are_the_same():
    assert same(made(2.0), made(2.0))
    assert not same(made(2.0), made(3.0))
    assert not same(made(0.0), made(-0.0))
    assert not same(made(1), made(1.0))
    assert same(helped(2.0), helped(2.0))
    assert not same(helped(2.0), helped(3.0))
    assert not same(lambda h: h, lambda h: -h)


def test_a_changed_global_makes_another_function(monkeypatch):
    build = lambda: lambda h: SCALE * h
    before = by_content(build())
    assert before == by_content(build())
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert before != by_content(build())


def test_what_is_read_from_a_module_counts(monkeypatch):
    mine = ModuleType("mine")
    mine.scale, mine.below, mine.unused = 2.0, ModuleType("mine.below"), 1.0
    mine.below.attention = made(2.0)
    build = lambda: lambda h: mine.scale * mine.below.attention(h)
    before = by_content(build())
    mine.unused = 2.0
    assert before == by_content(build())
    mine.scale = 3.0
    assert before != by_content(build())
    mine.scale, mine.below.attention = 2.0, made(3.0)
    assert before != by_content(build())
    mine.scale = [2.0]
    assert not same(build(), build())


def test_what_a_function_imports_itself_is_not_compared(monkeypatch):
    monkeypatch.setitem(sys.modules, "mine", ModuleType("mine"))

    def build():
        def imports(h):
            import mine

            return mine.attention(h)

        return imports

    assert not same(build(), build())


def test_what_can_change_is_not_compared():
    for held in ([2.0], {"a": 1}, np.ones(2), jnp.ones(2), object()):
        assert not same(made(held), made(held))
        assert by_content(made(held)).__name__ == "<lambda>"


def test_defaults_count():
    build = lambda width: eval(f"lambda h, w={width}: h * w")
    assert same(build(1.0), build(1.0))
    assert not same(build(1.0), build(2.0))


def test_scenarios_of_attentions_built_twice_are_of_one_structure():
    twice = [dotphase.paper().vary(student=dotphase.Attention(made(1.0), rank=1)) for _ in range(2)]
    other = dotphase.paper().vary(student=dotphase.Attention(made(2.0), rank=1))
    assert twice[0].structure == twice[1].structure != other.structure
    assert hash(twice[0].structure) == hash(twice[1].structure)


SHIFT = 0.0


def shifted(h):
    return h @ h.T + SHIFT * h[:, :1]


def test_symmetries_follow_a_changed_global(monkeypatch):
    task = lambda: dotphase.paper().vary(student=dotphase.Attention(shifted, rank=1))
    assert len(symmetries(task())) == 8
    monkeypatch.setitem(globals(), "SHIFT", 0.5)
    assert len(symmetries(task())) == 4


class Settings:
    width = 1.0


def test_what_is_read_from_a_class_of_ones_own_is_not_compared():
    assert not same(lambda h: Settings.width * h, lambda h: Settings.width * h)
