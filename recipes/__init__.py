"""The recipes of the models that come with Headlight: their data, grammars and cards; the loop beside knows none."""
