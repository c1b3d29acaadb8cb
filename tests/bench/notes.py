"""What holds a figure that misses its goal, as measured, and what was tried; shown beside it.

`make bench-plots` puts a changed note into the README without measuring again.
"""

_KEPT = (
    "Scores and patterns that are kept are fresh memory, which the system clears page by page and fused attention "
    "never forms. Tried: huge pages, which were slower."
)
_DEFAULT = "transformers' own time with the fastest product is 0.52 to 0.60 of that with the default one here."

NOTES: dict[str, str] = {
    **{
        f"forward: {n_tokens} tokens: everything kept / transformers sdpa, fastest product": _KEPT
        for n_tokens in (128, 512, 1024)
    },
    **{f"forward: {n_tokens} tokens: everything kept / transformers sdpa": _DEFAULT for n_tokens in (128, 512, 1024)},
    "lens: 1024 tokens, all layers and positions / its matrix products alone": (
        "Its products are torch's own; the fastest one and an online softmax over smaller tiles are not used yet."
    ),
    "loading: peak memory after the first pass / file": (
        "A pass reads every weight, which is the whole file, and torch's import alone takes 230 MB, 0.46 of it."
    ),
    "generation: 16 + 128 tokens: transformers / ours": (
        "Calls of Python and torch take about 2 ms a token, and the unembedding is read at two thirds of a sum's "
        "speed. Tried for it: mv, linear, oneDNN, and blocks of 1 to 1024 rows."
    ),
}
