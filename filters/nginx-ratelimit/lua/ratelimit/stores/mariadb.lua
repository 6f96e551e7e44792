--- State in MariaDB: one query per request, row locks, the server's clock (see sql/schema.sql).
--
-- A query holds one transaction: every limit's row is locked in order of its key, so two requests can't wait for each other,
-- and what one binding limit rejects is rolled back for all. Of one worker, one query at a time asks for a key, for all that wait
-- (see `lines`): a client with many connections holds up itself. A query that only waited for a row says that the key is busy.
-- That isn't a failure of the store.

local clock = require("ratelimit.clock")
local connection = require("ratelimit.wire.connection")
local lines = require("ratelimit.stores.lines")
local mysql = require("ratelimit.wire.mysql")
local server_clock = require("ratelimit.stores.server_clock")

local M = { most_together = 50 }
M.__index = M

local number = "%.17g"

--- The first statements on a new connection.
M.setup = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
  .. "SET SESSION time_zone = '+00:00', SESSION innodb_lock_wait_timeout = 1, SESSION sql_mode = 'STRICT_ALL_TABLES'"

-- The server gives up before the filter does, to say what it waited for.
local part_of_timeout = 0.7

--- A store on the server of `config.address`.
function M.new(config)
  local address = config.address
  address.setup = ("%s, SESSION max_statement_time = %.4f"):format(M.setup, address.timeout * part_of_timeout)
  return setmetatable({ address = address, lines = lines.new(address.timeout), servers = server_clock.new() }, M)
end

-- A connection remembers until when somebody waited for the call before.
local at_any_time = "SET @ratelimit_denied=0,@ratelimit_until=NULL;"

-- A call that is in no hurry.
local function unhurried(text)
  return "SET STATEMENT max_statement_time = 0 FOR " .. text
end

--- Makes a pooled connection to an address `ahead` of the requests, has the server compile the procedures for it, and learns
-- the server's time.
function M:warm(address)
  local began = clock.steady()
  local rows, err = mysql.call(
    address,
    at_any_time .. unhurried("CALL ratelimit_decide(x'7761726d','take','fixed_window',1,1000000,1,1,0,0,0,0,-1)")
  )
  if rows and rows[1] then
    self.servers:learn(began, tonumber(rows[1][1]), clock.steady())
  end
  return rows, err
end

local function call(request, now)
  local limit = request.limit
  local numbers = {
    limit.limit,
    limit.window,
    limit.burst,
    limit.sub_windows,
    request.amount,
    request.share or 0,
    request.at or 0,
    request.binding and 1 or 0,
    now or -1,
  }
  for i, value in ipairs(numbers) do
    numbers[i] = number:format(value)
  end
  return ("CALL ratelimit_decide(%s,'%s','%s',%s)"):format(
    mysql.quote(request.key),
    request.verb,
    limit.algorithm,
    table.concat(numbers, ",")
  )
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

-- Ends a query with an error when nobody waits for it any more: before it has counted anything, and (by the procedure) again
-- when it has waited for the row.
local unless_late = "SET @ratelimit_denied=IF(UNIX_TIMESTAMP(SYSDATE(6))*1000000>%.0f,(SELECT 1 UNION SELECT 2),0),"
  .. "@ratelimit_until=%.0f;"
local late = 1242

-- The query for a list of requests in some order.
-- @param till when nobody waits for the answer any more, on the server's clock; -1: not known
local function statement(requests, order, ending, now, till)
  local parts = { (till < 0 and at_any_time or unless_late:format(till, till)) .. "START TRANSACTION" }
  for _, i in ipairs(order) do
    parts[#parts + 1] = call(requests[i], now)
  end
  parts[#parts + 1] = ending
  return table.concat(parts, ";")
end

local function answer(row)
  return {
    allowed = row[2] == "1",
    remaining = tonumber(row[3]),
    reset = tonumber(row[4]),
    retry_after = tonumber(row[5]),
    delay = tonumber(row[6]),
    granted = tonumber(row[7]),
    time = tonumber(row[1]),
  }
end

local lock_wait_timeout, deadlock, out_of_time = 1205, 1213, 1969

-- A server that has just answered, and has no time left to say more, is as well as one that says it waited for a row.
local function waited_for_a_row(open, code)
  if code ~= out_of_time then
    return code == lock_wait_timeout or code == deadlock
  end
  local rows = mysql.query(open, "SELECT @ratelimit_waits")
  return not rows or rows[1][1] == "1"
end

-- Sends a query; `false` when it did nothing but wait for a row. The connection is kept only when that is rolled back.
local function talk(open, text)
  local rows, err, code = mysql.query(open, text)
  if code == late then
    return nil, "LATE: the server came to it when nobody waited any more"
  elseif rows or not code or not waited_for_a_row(open, code) then
    return rows, err
  elseif mysql.query(open, "ROLLBACK") then
    return false
  end
  return nil, lines.busy
end

-- Whether the server came to a query too late, as after a stall, or seemed to, as its clock was stepped.
local function is_late(err)
  return tostring(err):find("LATE", 1, true) ~= nil
end

local function query(self, requests, order, ending, now, deadline)
  local began = clock.steady()
  deadline = deadline or connection.deadline(self.address)
  local till = now and -1 or self.servers:before(deadline)
  local rows, err = mysql.call(self.address, statement(requests, order, ending, now, till), talk, deadline)
  if rows and rows[1] and not now then
    self.servers:learn(began, tonumber(rows[1][1]), clock.steady())
  elseif is_late(err) then
    self.servers:forget()
  end
  if rows == false then
    return nil, lines.busy
  elseif rows and #rows ~= #requests then
    return nil, "the server answered " .. #rows .. " limits of " .. #requests
  end
  return rows, err
end

-- Asks for requests of one key in their order. What doesn't fit takes nothing, so nothing has to be rolled back.
local function ask_for_one(self, requests, now)
  local order = {}
  for i = 1, #requests do
    order[i] = i
  end
  local rows, err = query(self, requests, order, "COMMIT", now)
  for i, row in ipairs(rows or {}) do
    local found = answer(row)
    rows[i] = { found, time = found.time }
  end
  return rows, err
end

-- Asks for requests of several keys together.
local function ask(self, requests, now, deadline)
  local order = in_order(requests)
  local rows, err = query(self, requests, order, "CALL ratelimit_finish()", now, deadline)
  if not rows then
    return nil, err
  end
  local answers = {}
  for place, i in ipairs(order) do
    answers[i] = answer(rows[place])
    answers.time = answers[i].time
  end
  return answers
end

-- The grants of a request that another limit rejects, as requests that only look, and where their answers belong.
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

-- Rows that were sent before a later limit rejected say what was rolled back since: a second query asks what is there.
local function ask_for_all(self, requests, now)
  local deadline = connection.deadline(self.address)
  local answers, err = ask(self, requests, now, deadline)
  if not answers then
    return nil, err
  end
  local looks, places = rolled_back(requests, answers)
  if not looks then
    return answers
  end
  local found = ask(self, looks, now, deadline)
  for i, place in ipairs(places) do
    local first = answers[place]
    first.granted, first.remaining = 0, first.remaining + first.granted
    answers[place] = found and found[i] or first
  end
  return answers
end

local function keys_of(requests)
  local keys = {}
  for i, request in ipairs(requests) do
    keys[i] = request.key
  end
  table.sort(keys)
  return keys
end

--- Decides all requests together: what one binding limit rejects is taken from none.
function M:decide(requests, now)
  if requests[2] then
    return self.lines:alone(keys_of(requests), function()
      return ask_for_all(self, requests, now)
    end)
  end
  return self.lines:together(requests[1].key, requests[1], function(batch)
    return ask_for_one(self, batch, now)
  end)
end

-- Few rows at a time: a request for one of them waits as long as they are locked.
local purged_together, most_purges = 200, 50

--- Forgets state that has expired; returns how many keys, and whether there are more.
function M:purge()
  local forgotten = 0
  for _ = 1, most_purges do
    local text = unhurried(("CALL ratelimit_purge(%d)"):format(purged_together))
    local rows, err = mysql.call(connection.patient(self.address, 1), text)
    if not rows then
      return nil, err
    end
    forgotten = forgotten + tonumber(rows[1][1])
    if tonumber(rows[1][1]) < purged_together then
      return forgotten, false
    end
  end
  return forgotten, true
end

return M
