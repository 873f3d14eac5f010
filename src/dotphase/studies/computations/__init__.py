"""What can be computed at a point of a study.

`theory.py`, `transitions.py`, `stability.py`, `rules.py`, `baseline.py`, `bayes.py`: limits d → ∞.
`training.py`, `trajectories.py`: finite d, compared with the limit. `one_pass.py`: learning in one
pass. `text.py`, `counting.py`: real sentences and the counting task. `_common.py`: shared code.
"""

# The name in a study file (`kind = "…"`), and the module and class that compute it.
COMPUTATIONS = {
    "baseline": ("baseline", "Baseline"),
    "bayes": ("bayes", "Bayes"),
    "counting": ("counting", "Counting"),
    "dynamics": ("one_pass", "Dynamics"),
    "flow": ("one_pass", "Flow"),
    "gamp": ("training", "Gamp"),
    "mixed": ("theory", "Mixed"),
    "rules": ("rules", "Rules"),
    "stability": ("stability", "Stability"),
    "text": ("text", "Text"),
    "theory": ("theory", "Theory"),
    "training": ("training", "Training"),
    "trajectories": ("trajectories", "Trajectories"),
    "transitions": ("transitions", "Transitions"),
}
