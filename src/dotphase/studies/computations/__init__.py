"""What can be computed at a point of a study.

`theory.py`, `transitions.py`, `stability.py`, `rules.py`, `baseline.py`, `bayes.py`: limits d → ∞.
`training.py`, `trajectories.py`: finite d, compared with the limit. `learning.py`: learning curves,
and learning in one pass. `text.py`, `counting.py`: real sentences and the counting task.
`_common.py`: shared code.
"""

# The name in a study file (`kind = "…"`), and the module and class that compute it.
COMPUTATIONS = {
    "baseline": ("baseline", "Baseline"),
    "bayes": ("bayes", "Bayes"),
    "counting": ("counting", "Counting"),
    "dynamics": ("learning", "Dynamics"),
    "flow": ("learning", "Flow"),
    "gamp": ("training", "Gamp"),
    "language": ("text", "Language"),
    "learning_curve": ("learning", "Curve"),
    "mixed": ("theory", "Mixed"),
    "rules": ("rules", "Rules"),
    "stability": ("stability", "Stability"),
    "text": ("text", "Text"),
    "theory": ("theory", "Theory"),
    "training": ("training", "Training"),
    "trajectories": ("trajectories", "Trajectories"),
    "transitions": ("transitions", "Transitions"),
}
