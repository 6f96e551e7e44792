--- State in MariaDB: one query per request, row locks, the server's clock (see sql/schema.sql).
--
-- A query holds one transaction: every limit's row is locked in order of its key, so two requests can't wait for each other,
-- and what one binding limit rejects is rolled back for all.

local connection = require("ratelimit.wire.connection")
local mysql = require("ratelimit.wire.mysql")

local M = {}
M.__index = M

local number = "%.17g"

--- What a new connection is told first.
M.setup = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
  .. "SET SESSION time_zone = '+00:00', SESSION innodb_lock_wait_timeout = 1, SESSION sql_mode = 'STRICT_ALL_TABLES'"

--- A store on the server of `config.address`.
function M.new(config)
  config.address.setup = M.setup
  return setmetatable({ address = config.address }, M)
end

--- Makes a pooled connection ahead of the requests, and has the server compile the procedures for it.
function M:warm()
  return mysql.call(connection.patient(self.address, 2),
    "CALL ratelimit_decide(x'7761726d','take','fixed_window',1,1000000,1,1,0,0,0,0,-1)")
end

local function call(request, now)
  local limit = request.limit
  local numbers = {
    limit.limit, limit.window, limit.burst, limit.sub_windows, request.amount, request.share or 0, request.at or 0,
    request.binding and 1 or 0, now or -1,
  }
  for i, value in ipairs(numbers) do
    numbers[i] = number:format(value)
  end
  return ("CALL ratelimit_decide(%s,'%s','%s',%s)"):format(
    mysql.quote(request.key), request.verb, limit.algorithm, table.concat(numbers, ","))
end

local function in_order(requests)
  local order = {}
  for i = 1, #requests do
    order[i] = i
  end
  table.sort(order, function(i, j)
    return requests[i].key < requests[j].key
  end)
  return order
end

--- The query for a list of requests, and the order in which its rows answer them.
function M.statement(requests, now)
  local order = in_order(requests)
  local parts = { "SET @ratelimit_denied=0;START TRANSACTION" }
  for _, i in ipairs(order) do
    parts[#parts + 1] = call(requests[i], now)
  end
  parts[#parts + 1] = "CALL ratelimit_finish()"
  return table.concat(parts, ";"), order
end

--- The answers in the rows of a reply.
function M.answers(rows, order)
  local answers = {}
  for place, i in ipairs(order) do
    local row = rows[place]
    answers.time = tonumber(row[1])
    answers[i] = {
      allowed = row[2] == "1", remaining = tonumber(row[3]), reset = tonumber(row[4]),
      retry_after = tonumber(row[5]), delay = tonumber(row[6]), granted = tonumber(row[7]),
    }
  end
  return answers
end

local function ask(self, requests, now)
  local text, order = M.statement(requests, now)
  local rows, err = mysql.call(self.address, text)
  if not rows then
    return nil, err
  elseif #rows ~= #requests then
    return nil, "the server answered " .. #rows .. " limits of " .. #requests
  end
  return M.answers(rows, order)
end

-- What was granted beside a binding rejection, as requests that only look, and where their answers belong.
local function rolled_back(requests, answers)
  local looks, places, denied = {}, {}, false
  for i, request in ipairs(requests) do
    denied = denied or request.binding and not answers[i].allowed
    if answers[i].granted > 0 then
      looks[#looks + 1], places[#places + 1] = { key = request.key, limit = request.limit, verb = "take", amount = 0 }, i
    end
  end
  return denied and looks[1] and looks, places
end

--- Decides all requests together: what one binding limit rejects is taken from none. Rows that were sent before a later limit
-- rejected say what was rolled back since: a second query asks what is there.
function M:decide(requests, now)
  local answers, err = ask(self, requests, now)
  if not answers then
    return nil, err
  end
  local looks, places = rolled_back(requests, answers)
  if not looks then
    return answers
  end
  local found = ask(self, looks, now)
  for i, place in ipairs(places) do
    local told = answers[place]
    told.granted, told.remaining = 0, told.remaining + told.granted
    answers[place] = found and found[i] or told
  end
  return answers
end

--- Forgets state that has expired; returns how many keys.
function M:purge()
  local rows, err = mysql.call(self.address, "CALL ratelimit_purge(10000)")
  return rows and tonumber(rows[1][1]), err
end

return M
