"""El Malki and Zdun (2021): request bundles."""
