"""The pages, one file each: `render(run)` draws it from a run and the selection."""
