"""What the page with options begins with."""

from typing import Any

HELP = "How <b>large</b> it is."
SIZES = {1: "small", 2: "medium", 3: "<b>large</b>"}
FRUIT = {"a": "apple", "b": "<img src=x>", "k": "kiwi \u202e", **{each: f"fruit {each}" for each in range(200)}}
GROUPS = [("<b>tree</b>", 1), ("<b>tree</b>", 2), ("any", 3)]
BEGUN: dict[str, Any] = {
    "size": 2,
    "fruit": "b",
    "basket": (),
    "ripe": False,
    "name": "",
    "count": 3,
    "most": None,
    "weight": 0.5,
    "press": 0,
}
OFFERED = ["small", "large", "<img src=x>"]
LABELS = {"large": "<b>large</b> and slow"}
