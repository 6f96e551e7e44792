"""Where rounds begin to be lost as a dose rises: the next dose to try, the boundary with its interval, the words."""
