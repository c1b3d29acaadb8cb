"""Pictures for papers and slides, drawn by matplotlib, one file a view: `draw(shown, chosen, palette)`."""
