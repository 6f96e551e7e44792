"""Two sets of rounds against each other, and the gate that decides on their difference."""
