"""CamemBERT folders: RoBERTa under another name.

Source: transformers' CamembertConfig and modeling_camembert.
"""

from dataclasses import replace

from headlight.model.checkpoints.families import roberta

FAMILY = replace(roberta.ARCHITECTURE, model_type="camembert").family
