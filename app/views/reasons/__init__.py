"""What the page *Why* is of: the chosen tokens and cell, and the numbers that explain them."""
