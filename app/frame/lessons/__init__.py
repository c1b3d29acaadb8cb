"""Lessons: texts beside the pages, a step at a time, with questions that are checked against the model."""
