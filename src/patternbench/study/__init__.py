"""The study: models of its file, loading with line-precise errors, importers."""
