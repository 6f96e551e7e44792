"""Compose projects of a user's own: which engine brings them up, what it says of their containers, who keeps them."""
