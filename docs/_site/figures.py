"""The study, the code and the data of a figure."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .sources import RESULTS, ROOT

SOURCE = """::::{{dropdown}} Study, code and data
`dotphase reproduce {name} --quality full` computes the data (`data/{name}.zarr`) and draws the figure. {data}

The study (quick quality; `dotphase sweep` runs it too):
{studies}
The drawing, `dotphase/figures/{module}`:

~~~{{literalinclude}} {path}
:language: python
~~~
::::
"""


class FigureSource(SphinxDirective):
    """The dropdown below a figure."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        from dotphase.figures.frame.catalogue import MODULES, figure_named

        name = self.arguments[0]
        module = f"{MODULES[name].replace('.', '/')}.py"
        path = ROOT / "src" / "dotphase" / "figures" / module
        studies = figure_named(name).studies("quick")
        stored = [store for store in studies if (RESULTS / "figures" / f"{store}.zip").exists()]
        links = " ".join(
            f"{{download}}`{store}.zip </results/figures/{store}.zip>`" for store in stored
        )
        data = f"As computed for the picture, a CSV per computation: {links}." if stored else ""
        text = SOURCE.format(
            name=name,
            module=module,
            data=data,
            studies="".join(f"\n~~~toml\n{_toml(study)}~~~\n" for study in studies.values()),
            path=f"/../{path.relative_to(ROOT)}",
        )
        return self.parse_text_to_nodes(text)


def _toml(study) -> str:
    import tomli_w

    tables = study.model_dump(mode="json", exclude_defaults=True)
    for label, kind in study.compute.items():
        tables["compute"][label] = {"kind": kind.kind} | tables["compute"][label]
    return tomli_w.dumps(_without_none(tables))


def _without_none(found):
    if isinstance(found, dict):
        return {key: _without_none(value) for key, value in found.items() if value is not None}
    return found


def setup(app) -> None:
    """The directive."""
    app.add_directive("figure-source", FigureSource)
