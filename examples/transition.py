# %% [markdown]
# # The transition
#
# Both branches along the sample ratio, with bands of two standard errors; the test error of the
# best position-only predictor; and α_c, where the training losses cross.

# %%
import numpy as np

import dotphase

curves = dotphase.branches(
    dotphase.paper(omega=0.3), np.linspace(0.7, 2, 8), rule=dotphase.Sobol(2**13)
)
curves.plot()

# %%
dotphase.critical(
    dotphase.paper(omega=0.3), "train-loss", between=(1, 1.6), scan=2, precision=0.01
).location

# %% [markdown]
# The numbers of the picture, one row for every branch and value:

# %%
curves.to_pandas()[
    [
        "sample_ratio",
        "branch",
        "outcome",
        "train_loss",
        "train_loss_error",
        "test_error",
        "m",
        "theta",
    ]
]
