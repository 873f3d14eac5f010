"""The Bayes-optimal limit: the best that anyone can do with the same data.

`channel.py`: what the teacher's output reveals of its fields. `limit.py`: state evolution and its
fixed point. `message_passing.py`: the algorithm that reaches it at finite d.
"""
