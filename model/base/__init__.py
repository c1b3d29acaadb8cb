"""What every other room may use: errors, checks of settings, files, memory, and where weights came from."""
