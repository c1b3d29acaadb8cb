"""XLM-RoBERTa folders: RoBERTa under another name.

Source: transformers' XLMRobertaConfig and modeling_xlm_roberta.
"""

from dataclasses import replace

from headlight.model.checkpoints.families import roberta

FAMILY = replace(roberta.ARCHITECTURE, model_type="xlm-roberta").family
