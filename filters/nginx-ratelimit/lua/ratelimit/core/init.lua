--- The six algorithms by name.

local M = {}

M.files = {
  fixed_window = "fixed_window",
  sliding_window_log = "sliding_log",
  sliding_window_counter = "sliding_counter",
  token_bucket = "token_bucket",
  leaky_bucket = "leaky_bucket",
  gcra = "gcra",
}

M.names = {
  "fixed_window",
  "sliding_window_log",
  "sliding_window_counter",
  "token_bucket",
  "leaky_bucket",
  "gcra",
}

for _, name in ipairs(M.names) do
  M[name] = require("ratelimit.core." .. M.files[name])
end

return M
