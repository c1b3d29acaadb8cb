"""The fast exact ways through the layers' einsums, behind one door: the same sums, their terms in another order.

Each comes to the einsum beside it up to float32's rounding, in inference mode on the processor; elsewhere it is that
einsum. `make bench ARGS="--only kernels"` measures the time without each over the time with it. On one core of an AMD
EPYC with torch 2.13, GPT-2-small's width, processor time, medians of the ratios in turns:

    a head at a time                1.34 of a pass over 1024 tokens
    the fastest exact product       1.08 of such a pass, 1.06 of a written token
    q, k and v in one product       1.03 of such a pass, 1.08 of a written token
    rows that are weighted          1.12 of a written token (with `embedding_bag`)
    dot products in blocks          1.05 of a written token

Tried, and left out for less than 5%: of a causal head only the keys that are seen, in blocks of queries (1.04), one
token's attention in one step of torch's (1.03), a LayerNorm in place (1.01).
"""

from headlight.model.compute.matrix_products import affine, product, products

__all__ = ["affine", "product", "products"]
