"""What may be asked: bounds, unknown words, and the scenario that comes of it."""

import pytest
from pydantic import ValidationError

import dotphase
from dotphase.explorer.answers.export import student_python
from dotphase.explorer.answers.task import STUDENTS, Branches, Letters, Task, Training, bounds


def test_the_default_task_is_the_papers():
    assert Task().scenario() == dotphase.paper()


def test_every_number_reaches_the_scenario():
    task = Task.model_validate(
        {"alpha": 1.5, "omega": 0.2, "sigma": 0.7, "lambda": 0.02, "positional": [[1, 0], [0, 1]]}
    )
    assert task.scenario() == dotphase.paper(1.5, 0.2, 0.7, 0.02, [[1.0, 0.0], [0.0, 1.0]])
    assert task.at(alpha=0.5).scenario() == dotphase.paper(
        0.5, 0.2, 0.7, 0.02, [[1.0, 0.0], [0.0, 1.0]]
    )


def test_words_can_know_of_each_other():
    assert Task(correlation=0.3).scenario().tokens == dotphase.scenario.correlated(2, 0.5, 0.3)
    for wrong in (-1.0, 1.0, "much"):
        with pytest.raises(ValidationError):
            Task(correlation=wrong)


@pytest.mark.parametrize("student", STUDENTS)
def test_what_python_says_of_a_student_is_that_student(student):
    task = Task(student=student)
    assert task.scenario().student == eval(
        f"dotphase.{student_python(task)}", {"dotphase": dotphase}
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0},
        {"alpha": 1e9},
        {"alpha": float("nan")},
        {"alpha": float("inf")},
        {"alpha": "two"},
        {"omega": -0.1},
        {"lambda": 0},
        {"sigma": 1e-9},
        {"positional": [[1]]},
        {"positional": [[1, 2, 3], [1, 2, 3]]},
        {"positional": [[1e6, 0], [0, 1]]},
        {"student": "__import__('os')"},
        {"scenario": {"python": "os:getcwd"}},
        {"file": "/etc/passwd"},
    ],
)
def test_what_is_out_of_bounds_is_refused(wrong):
    with pytest.raises(ValidationError):
        Task.model_validate(wrong)


def test_work_is_bounded():
    for wrong in (
        {"d": 10**6},
        {"seeds": 1000},
        {"seed": -1},
        {"start": "anywhere"},
        {"optimiser": "sgd"},
    ):
        with pytest.raises(ValidationError):
            Training.model_validate(wrong)
    with pytest.raises(ValidationError):
        Branches.model_validate({"along": "d"})
    with pytest.raises(ValidationError):
        Letters.model_validate({"text": "a" * 201})


def test_the_page_is_told_the_same_bounds():
    told = bounds()
    assert {"alpha", "omega", "sigma", "lambda", "correlation", "d", "seed", "seeds"} == set(told)
    for name, bound in told.items():
        assert bound["least"] <= bound["default"] <= bound["greatest"], name
