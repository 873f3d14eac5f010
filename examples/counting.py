# %% [markdown]
# # Two ways to count letters
#
# One transformer, restricted to look at letters or at places, trained, then freed: where it looks
# before and after. Shorter sentences and fewer of them than the published setting, which is
# `Experiment()` as it stands.

# %%
from dataclasses import replace

from dotphase.counting import CountingTask, Experiment, Recipe, perform, train
from dotphase.counting.plots import learning_curves
from dotphase.counting.show import look

small = Experiment(
    task=CountingTask(length=6, letters=12, samples=8_000), recipe=Recipe(epochs=8), seeds=(0, 1)
)
trained = {
    mechanism: train(replace(small, mechanism=mechanism))
    for mechanism in ("semantic", "positional")
}
operated = {
    mechanism: perform(run, recipe=Recipe("sgd", epochs=2)) for mechanism, run in trained.items()
}
look([(trained[m], operated[m]) for m in trained], sentence="BAADEA", seed=0).figure

# %%
learning_curves(list(trained.values()))
