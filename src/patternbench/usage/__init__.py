"""The wing of usage: what CPU time and memory the components took in a round."""
