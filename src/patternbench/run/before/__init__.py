"""What is known before anything runs: checks of a study, and the changes that its rounds need."""
