"""One module for each form of configuration; ``registry`` lists them."""
