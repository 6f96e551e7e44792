"""How fast the machine was in each round: a fixed piece of work, repeated on CPUs that the system uses."""
