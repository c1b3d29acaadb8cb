"""The numbers of each view as tables and arrays, one file a view: `data(shown, chosen)`."""
