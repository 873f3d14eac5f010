"""A figure that shows itself."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure of matplotlib that a notebook shows as it is, also where pyplot was never imported."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()
