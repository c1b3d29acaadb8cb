"""Writing with run A, and with run B beside it: the options, the steps, the heads while writing, and all in numbers."""
