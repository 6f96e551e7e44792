"""Reading configurations: from a product's files to the policies they set, and a list of what was not understood."""
