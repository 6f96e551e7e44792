"""How faults act on a system that is up: one file of ``kinds/`` for each kind that a study knows."""
