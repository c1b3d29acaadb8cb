"""What holds a figure that misses its goal, as measured, and what was tried; shown beside it.

`make bench ARGS=plots` puts a changed note into the manual without measuring again. Times that are not in the table are
of the same run, in bench.json, or of torch's profiler.
"""

_DEFAULT = (
    "With the fastest product transformers itself takes 0.55 (16 tokens), 0.69 (128), 0.82 (512) and 0.86 (1024) of "
    "its time with the default one, and keeps nothing."
)
_READ = (
    "All scores and patterns are 2 x 144 x tokens^2 numbers of fresh memory (1.2 GB at 1024), which the system clears "
    "page by page and fused attention never forms. Tried: huge pages (slower), softmax in place (done for the "
    "pattern), a head at a time (done), keeping them as queries and keys until they are read (the rows above)."
)
_PLAIN = (
    "By torch's profiler at 512 tokens, 86 % of a pass is in the products, some of them with heads' 64 columns, GELU "
    "takes 6 %, softmax 2 %, copies, additions and LayerNorm the rest; the floor has the products of the weights "
    "alone. Tried: all heads' products at once (slower), LayerNorm in one step (1 %, but not bit for bit what a "
    "tapped pass computes)."
)
_BRIDGE = "A pass of ours that keeps nothing is only {} times as fast as the bridge's that keeps all."
_SMALL = "Of the 48 ms of a pass, 35 are the reading of the weights by the floor's products."
_ABOVE = (
    "Beside the products there are the copies of what is kept: a pass of ours that keeps nothing takes {} of its time."
)

_FORWARD: dict[str, str] = {}
for _n in (16, 128, 512, 1024):
    _FORWARD |= {
        f"forward: {_n} tokens: everything kept / transformers sdpa": _DEFAULT,
        f"forward: {_n} tokens: everything kept and read / transformers sdpa": f"{_DEFAULT} {_READ}",
        f"forward: {_n} tokens: everything kept and read / transformers sdpa, fastest product": _READ,
        f"forward: {_n} tokens: plain / floor of operations": _PLAIN,
    }

NOTES: dict[str, str] = {
    **_FORWARD,
    "forward: 128 tokens: everything kept / transformers sdpa, fastest product": _ABOVE.format("0.98"),
    "forward: 512 tokens: everything kept / transformers sdpa, fastest product": _ABOVE.format("0.94"),
    "patching: map of 144 heads, 16 tokens: TransformerBridge / ours": (
        "The bridge takes 16 times as long as the map's products alone: on this processor 18 is out of reach."
    ),
    "forward: 16 tokens: TransformerBridge run_with_cache / ours": f"{_BRIDGE.format(2.2)} {_SMALL}",
    "forward: 16 tokens: TransformerBridge run_with_cache / ours, all read": f"{_BRIDGE.format(2.2)} {_SMALL}",
    "forward: 16 tokens: HookedTransformer run_with_cache / ours, all read": _SMALL,
    "forward: 512 tokens: TransformerBridge run_with_cache / ours": _BRIDGE.format(1.3),
    "forward: 512 tokens: TransformerBridge run_with_cache / ours, all read": _BRIDGE.format(1.3),
    "forward: 1024 tokens: HookedTransformer run_with_cache / ours, all read": _READ,
    "lens: 1024 tokens, all layers and positions / its matrix products alone": (
        "Besides the products there are 670 million logits: their exponentials take 0.10 of the products' time, "
        "peaks, sums, entropy and KL 0.08, the ten best 0.08, each measured alone on a tile in the cache. The rest is "
        "the tile falling out of it: a tile's product takes 1.1 times as long between these steps as by itself. "
        "Tried: tiles of 512 to 2048 rows by 512 to 4096 words (1024 by 2048 takes 1.43, and 107 MB), torch's fused "
        "softmax (slower than its steps), topk of every tile (1.7), topk of groups' peaks (1.6)."
    ),
    "memory: run of 1024 tokens as the page keeps it": (
        "195 MB are what is kept: queries, keys, values and what each layer writes, of which every page is computed. "
        "The most that a layer takes besides in passing is 40 MB (its MLP), the lens 30. Tried and done: heads shown "
        "to the page one at a time (75 MB less), the lens some positions at a time (40 MB less)."
    ),
    "loading: load to ready, without the check of every weight": (
        "13 ms where nothing has run before it (`--only loading`), 12 of processor time: 400 parameters of torch's "
        "modules. In this run it follows four minutes of other work. Tried: Python's collector at rest meanwhile "
        "(done; 0.1 s less)."
    ),
    "loading: peak memory after the first pass / file": (
        "A pass reads every weight, which is the whole file, and torch's import alone takes 230 MB, 0.48 of it: 1.48 "
        "is the least. The rest is the pass's own."
    ),
    "start: import model / import torch": (
        "Forty files of the layers and of the kinds of checkpoints are read besides. Tried: naming the library's "
        "parts without importing them (done, for what needs no model)."
    ),
    "start: make run to the first picture of mini": (
        "Streamlit's import and server take 1.4 s, torch's import 0.9, the page of Streamlit itself 1 s in the "
        "browser. Tried: importing the library while the server starts, which made no difference on these two "
        "threads."
    ),
    "generation: 16 + 128 tokens: transformers / ours": (
        "Calls of Python and torch take about 2 ms a token, and the unembedding is read at two thirds of a sum's "
        "speed. Tried for it: mv, linear, oneDNN, and blocks of 1 to 1024 rows."
    ),
}
