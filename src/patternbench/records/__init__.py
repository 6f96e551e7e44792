"""What a run leaves behind; the only room that knows file formats."""
