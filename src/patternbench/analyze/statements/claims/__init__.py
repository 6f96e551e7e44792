"""Claims of a study: what it expects, which scenarios decide that, and what the rounds say of it."""
