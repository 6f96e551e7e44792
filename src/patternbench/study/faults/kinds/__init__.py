"""The kinds of fault in a study, one file each. Every file here is a kind, found by listing."""
