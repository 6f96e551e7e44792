std = "luajit"
max_line_length = 140
files["spec"] = { std = "luajit+busted" }
