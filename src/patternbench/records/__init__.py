"""The files of a run; the only room that knows file formats."""
