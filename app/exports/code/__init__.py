"""The script that computes what a view shows with the library alone, one file a view: `script(shown, chosen)`."""
