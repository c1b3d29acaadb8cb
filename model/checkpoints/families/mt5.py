"""mT5 folders: T5 version 1.1, whose logits are never scaled.

Source: transformers' MT5Config and modeling_mt5.
"""

from dataclasses import replace

from headlight.model.checkpoints.families import t5

FAMILY = replace(t5.ARCHITECTURE, model_type="mt5").family
