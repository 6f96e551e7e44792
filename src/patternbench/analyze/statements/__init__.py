"""How two things differ, how sure that is, and in which word: the one room that decides it."""
