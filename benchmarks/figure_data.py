"""The data of figures as downloads of the documentation: tables of what `dotphase reproduce`
computed.

dotphase reproduce --quality quick --out reproduction python -m benchmarks.figure_data reproduction
docs/results/figures/NAME.zip, a CSV per computation and the study
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent.parent / "docs" / "results" / "figures"


def pack(store: Path) -> Path:
    """One store as an archive, whose bytes depend on the numbers alone."""
    from dotphase.studies.store.view import open_study
    from dotphase.studies.study.export import export

    FOLDER.mkdir(parents=True, exist_ok=True)
    archive = FOLDER / f"{store.stem}.zip"
    with (
        TemporaryDirectory() as folder,
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        files = {Path(file).name: Path(file).read_bytes() for file in export(store, "csv", folder)}
        files["study.json"] = json.dumps(
            json.loads(open_study(store).attrs["study"]), indent=1
        ).encode()
        for name, content in sorted(files.items()):
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return archive


if __name__ == "__main__":
    for found in sorted((Path(sys.argv[1]) / "data").glob("*.zarr")):
        print(pack(found))
