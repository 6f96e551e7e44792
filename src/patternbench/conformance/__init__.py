"""The contract's own tests, run against any client: rules, a scripted target, what is expected of each."""
