"""Headlight's page in the browser: the command `headlight`, or `python -m headlight.app`."""

import os

# A thread of torch's that waits for the next piece of work goes on asking for it, by default for milliseconds, and
# keeps the page's own work off the processor. This is long enough for the pieces of a pass, which follow at once.
# Source: GOMP_SPINCOUNT in the manual of GNU's libgomp; it is read once, before torch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
