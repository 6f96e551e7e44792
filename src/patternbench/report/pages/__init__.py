"""HTML pages of the verbs for analysis: models, comparisons, recommendations, load tests."""
