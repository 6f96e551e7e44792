"""Pages of an analysis that was asked for by a verb: models, comparisons, recommendations, load tests."""
