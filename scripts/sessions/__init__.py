"""Sessions of measuring: many studies one after another, from one commit, on a quiet machine, block by block."""
