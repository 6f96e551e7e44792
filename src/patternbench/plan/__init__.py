"""From a study to an ordered, content-addressed list of scenarios: factors, levels, constraints, designs."""
