"""HTML pages of the commands for analysis: models, comparisons, recommendations, load tests."""
