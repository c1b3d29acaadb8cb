"""Headlight's page as `tests.bench.parts` has it served: with the part and the side that the environment names."""

import os
import sys

first = "headlight.app.main" not in sys.modules
if first:
    from tests.bench import library

    library.swap(os.environ["BENCH_PART"], os.environ["BENCH_SIDE"])

from headlight.app import main  # noqa: E402  (once the part is swapped; the first import draws the page)

if not first:
    main.main()
