"""The kinds of fault, one file each: what a study says of it. Whatever file is here is a kind, found by listing."""
