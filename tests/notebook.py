"""Runs the notebooks in a new kernel; `python -m tests.notebook` (`make notebook`) also writes what comes out.

The pictures of `headlight.show` are not written: each is a document with the components' scripts, which would change
with every one of these, and GitHub shows none of it.
"""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.places import ROOT

if TYPE_CHECKING:  # importing it takes seconds, in which its grammar of addresses is compiled
    from nbformat import NotebookNode

NOTEBOOK = ROOT / "assets" / "notebooks" / "attention_from_scratch.ipynb"
FIGURES = NOTEBOOK.with_name("figures.ipynb")
ARRAYS = NOTEBOOK.with_name("your_arrays.ipynb")
RUNS = NOTEBOOK.with_name("runs.ipynb")


def committed(path: Path = NOTEBOOK) -> "NotebookNode":
    """A notebook as it lies in the project, outputs included.

    Raises:
        nbformat.ValidationError: it is none.
    """
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def executed(path: Path = NOTEBOOK) -> "NotebookNode":
    """A notebook with the outputs of a run of all its cells, started in the project's folder.

    The kernel takes nothing from the user's own Jupyter and IPython, and runs on one thread, so that sums are taken in
    the same order wherever it runs.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell that fails.
    """
    import matplotlib.font_manager  # noqa: F401  a new machine's list of fonts is made here, not in the outputs
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = committed(path)
    with tempfile.TemporaryDirectory() as own:
        settings = {
            "IPYTHONDIR": own,
            "JUPYTER_CONFIG_DIR": own,
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "OMP_NUM_THREADS": "1",
        }
        client = NotebookClient(
            notebook,
            timeout=120,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(ROOT)}},
            # Files instead of ports, which others of this machine could listen to.
            config=Config(KernelManager={"transport": "ipc", "connection_file": f"{own}/kernel.json"}),
        )
        client.execute(env=os.environ | settings)
    notebook.metadata.language_info = {"name": "python"}  # without the version of this machine's
    return notebook


if __name__ == "__main__":
    import nbformat

    for path in (NOTEBOOK, FIGURES, ARRAYS, RUNS):
        notebook = executed(path)
        for cell in notebook.cells:
            for output in cell.get("outputs", ()):
                output.get("data", {}).pop("text/html", None)
        nbformat.write(notebook, path)
