"""The models as code: configs, layers, hooks and caches of activations, and how they run on devices."""
