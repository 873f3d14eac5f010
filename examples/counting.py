# %% [markdown]
# # Two ways to count letters
#
# A transformer whose attention may depend on letters only, or on positions only, is trained; then
# the restriction is removed. The picture shows its attention before and after. Sentences are
# shorter and fewer than in the published setting, which is `Experiment()` without arguments.

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
