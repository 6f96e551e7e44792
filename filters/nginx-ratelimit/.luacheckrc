std = "luajit"
max_line_length = 130
files["lua/ratelimit/core"] = { std = "lua51" }
files["spec"] = { std = "luajit+busted" }
files["lua/ratelimit"] = { read_globals = { "ngx" } }
