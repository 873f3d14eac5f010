"""What is learned: teacher, student, tokens, positions, and the frozen `Scenario` that holds them.

Read `scenario.py` first: the one object that goes to theory, training and data. `attentions/` has
teachers and students, `tokens.py` and `scales.py` the tokens, `distribution.py` what the theory
needs of them, `presets.py` the paper's task, `files.py` and `tables.py` scenario files, `names.py`
the names of numbers (α is `alpha` is `sample_ratio`). `arguments.py`, `checks.py` and
`validation.py` say what is refused, and `random_scenarios.py` draws scenarios for tests.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
