"""Export: the dataset of a study as tables (CSV, Parquet) or as one NetCDF file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...numerics.extras import require
from ..store.store import Store
from ..store.view import open_study

if TYPE_CHECKING:
    import pandas
    import xarray

ENDINGS = {"csv": "csv", "parquet": "parquet", "netcdf": "nc"}


def export(path: str | Path, form: str, out: str | Path | None = None) -> list[Path]:
    """Write the dataset of a study to the folder `out` (where the store is, unless given); returns the files.

    NetCDF is one file. CSV and Parquet are one table per computation, a row for each point and
    entry of its own dimensions; quantities with more dimensions than the outcome (curves, attention
    maps) have their own table.
    """
    path = Path(path)
    if form not in ENDINGS:
        raise ValueError(f"format: expected one of {', '.join(ENDINGS)}, got {form!r}")
    folder = path.parent if out is None else Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if form == "netcdf":
        file = folder / f"{path.stem}.nc"
        with open_study(path) as dataset:
            dataset.load().drop_encoding().to_netcdf(file, engine="scipy")
        return [file]
    return [
        _write(table, folder / f"{path.stem}_{name}.{ENDINGS[form]}", form)
        for name, table in tables(path)
    ]


def tables(path: str | Path) -> Iterator[tuple[str, pandas.DataFrame]]:
    """Name and table of each computation."""
    layouts = Store(path).layouts
    with open_study(path) as dataset:
        for label, layout in layouts.items():
            entry = set(dataset[f"{label}_outcome"].dims)
            apart: dict[tuple, list[str]] = {}
            for name in layout.variables:
                dims = dataset[f"{label}_{name}"].dims
                apart.setdefault(() if set(dims) <= entry else dims, []).append(name)
            for dims, names in apart.items():
                extra = [str(dim) for dim in dims if dim not in entry]
                yield "_".join([label, *extra]), _table(dataset, label, names)


def _table(dataset: xarray.Dataset, label: str, names: list[str]) -> pandas.DataFrame:
    chosen = dataset[[f"{label}_{name}" for name in names]].rename(
        {f"{label}_{name}": name for name in names}
    )
    if not chosen.dims:
        chosen = chosen.expand_dims("row")
    return chosen.to_dataframe().reset_index()


def _write(table: pandas.DataFrame, file: Path, form: str) -> Path:
    if form == "csv":
        table.to_csv(file, index=False)
        return file
    require("Parquet files need", "parquet")
    table.to_parquet(file, index=False, engine="pyarrow")
    return file
