"""Arrays to Plotly figures. A figure computes nothing and runs no model; its fonts come from the page's theme."""
