"""Training: the loop, its batches, schedules, logs and checkpoints; `recipes` trains the models in `assets/` by it."""
