"""What the heads of a model do, found on random tokens that come twice, or on prompts; a sequence at a time."""
