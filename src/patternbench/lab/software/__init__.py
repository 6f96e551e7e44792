"""Programs that components run: where they are on this machine, and how they are installed."""
