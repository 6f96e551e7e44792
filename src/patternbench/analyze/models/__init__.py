"""Formulas to fitted models, their tests and predictions: pure functions of data frames."""
