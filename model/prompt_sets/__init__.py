"""Sets of prompts: pairs with answers and named positions, from files, templates and assets, in a model's tokens."""
