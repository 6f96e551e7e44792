"""Makes the images of our applications: ``make images``."""
