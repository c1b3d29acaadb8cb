"""Import everything that sessions need before the first of them is served.

Sessions run in threads, and one may look at a module of which another has imported a half: plotly looks for pandas
among the modules there are, and of modules that import each other two threads may each begin with another. A test
visits every page and says what is missing here. What few need and takes seconds is imported later, by one thread at a
time: transformers and scikit-learn under `model.base.importing.IMPORTING`, matplotlib under that of `exports.style`.
"""

from importlib import import_module

MODULES = (
    "headlight.app.registry",  # all pages, and with them most of what they need
    "headlight.app.frame.copied_picture",
    "headlight.app.frame.head_menu",
    "headlight.app.frame.hint",
    "headlight.app.frame.lessons.pane",
    "headlight.app.frame.link",
    "headlight.app.frame.progress",
    "headlight.app.frame.reading",
    "headlight.app.frame.script_turns",
    "headlight.app.frame.take_away",
    "PIL.BmpImagePlugin",
    "PIL.GifImagePlugin",
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "PIL.PpmImagePlugin",
    "einops._torch_specific",
    "huggingface_hub._snapshot_download",
    "huggingface_hub.errors",
    "huggingface_hub.hf_api",
    "pandas",
    "plotly.animation",
    "plotly.graph_objects",
    "plotly.io._utils",
    "pyarrow.pandas_compat",
    "pyarrow.vendored.version",
    "streamlit.dataframe.lazy_df_adapters",
    "streamlit.emojis",
    "streamlit.material_icon_names",
    "streamlit.web.skills",
    "tokenizers",
    "torch.utils._device",
    "torch.utils.serialization",
)


def preload() -> None:
    """Import all modules of sessions."""
    for name in MODULES:
        import_module(name)
