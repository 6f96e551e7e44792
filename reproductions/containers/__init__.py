"""What an instance per container costs, saves and allows, against processes."""
