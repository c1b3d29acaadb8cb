"""A view as one html file that needs neither server nor network, one file a view: `page(runs, chosen)`."""
