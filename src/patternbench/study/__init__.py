"""What a user declares: models of the study file, loading with line-precise errors, importers."""
