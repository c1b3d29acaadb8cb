"""Every benchmark: `make bench ARGS="NAME …"`. Without a name it is `compare`, which the manual's page is about."""

import runpy
import sys
from pathlib import Path

NAMES = {
    "compare": "Headlight beside transformers and TransformerLens, written into the manual",
    "circuits": "how good the circuits of each method are, on mini and SmolLM2",
    "eap_ig": "edge scores and circuits beside EAP-IG's and MIB's own programs",
    "plots": "the manual's table and plots again, from the last figures of compare",
    "experiments": "patching over a set of pairs, beside its products alone and TransformerLens",
    "large": "a model of 6 GB under a limit of 4 GB",
    "lesson": "a class of forty that goes through a lesson: nobody turned away, everyone's score right",
    "long": "prompts of 2,048 to 8,192 tokens beside transformers' sdpa, on the CPU or a GPU",
    "neurons": "how soon the page MLP has its numbers",
    "quantised": "a pass over quantised weights, beside one over float32 ones",
    "scan": "documents a second of a corpus scan, beside a plain loop",
    "sessions": "how long a hundred people wait who share a server",
    "ui": "how long the page takes to answer, in Chromium, beside an empty Streamlit page",
    "why": "how soon the panel of a clicked cell is filled, in Chromium",
}


def main(arguments: list[str]) -> int:
    """Run the one that is named with the arguments behind its name."""
    name, *flags = arguments if arguments and not arguments[0].startswith("-") else ["compare", *arguments]
    if name not in NAMES:
        print(f"There is no benchmark {name}. Choose one of:")
        print("\n".join(f"  {each:12}{what}" for each, what in NAMES.items()))
        return 2
    sys.argv = [name, *flags]
    runpy.run_path(str(Path(__file__).with_name(f"{name}.py")), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
