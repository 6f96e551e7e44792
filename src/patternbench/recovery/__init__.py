"""How rounds went on after a fault was over: whether they recovered, when, and what the calls cost meanwhile."""
