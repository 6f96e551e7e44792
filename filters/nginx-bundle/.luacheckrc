std = "luajit"
max_line_length = 130
files["spec"] = { std = "luajit+busted" }
files["lua/bundle/init.lua"] = { read_globals = { ngx = { other_fields = true, fields = { header = { read_only = false, other_fields = true }, status = { read_only = false } } } } }
files["lua/bundle/in_force.lua"] = { read_globals = { "ngx" } }
files["lua/bundle/counts.lua"] = { read_globals = { "ngx" } }
