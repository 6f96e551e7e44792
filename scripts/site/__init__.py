"""The documentation as a site: what is generated for it, what it is put together from, and its pictures."""
