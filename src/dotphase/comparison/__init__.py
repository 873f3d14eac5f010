"""Theory, message passing and training compared, in standard errors.

`compare.py`: one scenario. `curves.py`: learning curves and training, step by step.
`trajectories.py`: message passing and state evolution, step by step.
`published.py`: the numerical method of the paper. `doctor.py`: this machine and stored answers.
`plots.py`: their pictures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
