"""The site: Markdown pages whose code is run, and a reference made from the package itself. `make
docs` builds it."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE),
    str(HERE.parent),
]  # the extensions in _site, and benchmarks, which know the stored results

from _site.sources import digest

project = "dotphase"
author = "The dotphase authors"
project_copyright = author
release = version_of("dotphase")

extensions = [
    "myst_nb",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinxcontrib.bibtex",
    "_site",
]
exclude_patterns = ["_build", "pictures", "results"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!dotphase\.).*")]  # types of Python and of other libraries
suppress_warnings = ["mystnb.unknown_mime_type", "config.cache"]
python_use_unqualified_type_names = True
python_display_short_literal_types = True
maximum_signature_line_length = 70
add_module_names = False
toc_object_entries = False
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

myst_enable_extensions = [
    "amsmath",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
    "fieldlist",
]
myst_heading_anchors = 3
myst_dmath_double_inline = True
myst_links_external_new_tab = True

# What a page prints depends on the package as well as on the page: other sources, another cache.
nb_execution_mode = os.environ.get("DOTPHASE_DOCS_EXECUTE", "cache")
nb_execution_cache_path = str(HERE / "_build" / ".jupyter_cache" / digest())
nb_execution_timeout = 1800  # a cell takes seconds, longer on a busy machine
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_kernel_rgx_aliases = {".*": "python3"}
if nb_execution_mode == "off":  # numbers from cells are then missing, which is not an error
    suppress_warnings += ["mystnb.glue"]
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(HERE / "_build" / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

smartquotes_action = "qe"  # dashes stay: options of commands begin with two
html_theme = "furo"
html_title = "dotphase"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}
html_show_sphinx = False
html_copy_source = False
mathjax_path = (
    "mathjax.js"  # a single file, put there by _site.mathematics: pages work without a network
)
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

if os.environ.get("DOTPHASE_DOCS_INTERSPHINX"):  # needs a network, so it is asked for
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "xarray": ("https://docs.xarray.dev/en/stable", None),
    }
