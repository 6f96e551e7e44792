"""The contract's own tests, which run against any client: rules, a scripted target, expectations."""
