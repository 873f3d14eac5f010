"""Two ways to count letters, learnt by one transformer, in about a minute: train, measure, operate, draw.

Run with `python examples/counting.py`; it writes counting-attention.png and counting-learning.png here.
"""

from dataclasses import replace

from dotphase.counting import CountingTask, Experiment, Recipe, perform, separation, train, what_stayed
from dotphase.counting.pictures import learning_curves
from dotphase.counting.show import look
from dotphase.counting.summary import summarise

# Shorter sentences and fewer of them than the published setting, which is Experiment() as it stands.
small = Experiment(task=CountingTask(length=6, letters=12, samples=12_000), recipe=Recipe(epochs=8), seeds=(0, 1, 2))

trained = {mechanism: train(replace(small, mechanism=mechanism)) for mechanism in ("semantic", "positional")}
summaries = {mechanism: summarise(run) for mechanism, run in trained.items()}
for mechanism, summary in summaries.items():
    print(f"{mechanism}: accuracy {summary.accuracy}, {summary.scores.equal_letter_weight} on equal letters")
apart = separation(*(summary.scores.equal_letter_weight for summary in summaries.values()))
print(f"the two stand {apart:.0f} standard errors apart")

# Lift the restriction, shake every weight, go on with plain SGD: does the model stay where it is?
operated = {m: perform(run, recipe=Recipe("sgd", epochs=3)) for m, run in trained.items()}
for mechanism, run in trained.items():
    for seed in what_stayed(run, operated[mechanism]):
        print(f"{mechanism}, seed {seed.seed}: moved {seed.moved_share:.2%} of the way it had come")

view = look([(trained[m], operated[m]) for m in trained], sentence="BAADEA", seed=0)
view.figure.savefig("counting-attention.png", dpi=150)
learning_curves(list(trained.values())).savefig("counting-learning.png", dpi=150)
