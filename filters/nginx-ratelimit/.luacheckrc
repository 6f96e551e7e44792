std = "luajit"
max_line_length = 130
files["lua/ratelimit/core"] = { std = "lua51" }
files["spec"] = { std = "luajit+busted" }
files["lua/ratelimit"] = { read_globals = { ngx = { other_fields = true, fields = { header = { read_only = false, other_fields = true }, status = { read_only = false } } } } }
