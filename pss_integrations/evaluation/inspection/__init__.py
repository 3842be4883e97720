"""What lies behind a run's figures: states as geometry, clues as meaning, capacity, errors, and hyperparameters."""
