"""What holds a figure that misses its goal, as measured, and what was tried; shown beside it.

`make bench-plots` puts a changed note into the README without measuring again.
"""

NOTES: dict[str, str] = {
    "loading: peak memory after the first pass / file": (
        "A pass reads every weight, which is the whole file, and torch's import alone takes 230 MB, 0.46 of it."
    ),
}
