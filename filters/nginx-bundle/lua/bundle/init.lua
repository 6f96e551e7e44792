--- The filter: has single requests of a caller wait for each other, and sends them on as one.
--
-- In nginx.conf: init_by_lua `require("bundle").start(path)`, init_worker_by_lua `.work()`, access_by_lua `.access(...)` with
-- `set $bundle_uri "";` in the same location, the internal location `= /.bundle` that calls the servers behind, and a
-- location with content_by_lua `.status()`. nginx.conf.template has all of it.
--
-- Each worker collects by itself. The first request of a bundle leads it: it waits, makes the call as its own subrequest,
-- and tells the others. nginx does not notice here that a client has gone, so a leader whose client went away still serves
-- the others.

local answers = require("bundle.answers")
local collector = require("bundle.collector")
local counts = require("bundle.counts")
local identity = require("bundle.identity")
local in_force = require("bundle.in_force")
local routes = require("bundle.routes")
local semaphore = require("ngx.semaphore")

local M = {}

-- What many servers take as the first line of a request.
local longest_path = 8000
local most_headers = 100
-- Connecting, sending and reading each have the time-out; beyond all of them no one is there to tell a follower.
local times, spare = 3, 1
local microseconds = 1e6
local location = "/.bundle"

local waiting_room

local function fault(err)
  counts.add("faults")
  ngx.log(ngx.ERR, "bundle: ", err)
end

-- The call. -----------------------------------------------------------------------------------------------------------

local function asked(uri)
  counts.add("calls")
  local got = ngx.location.capture(location, { method = ngx.HTTP_GET, vars = { bundle_uri = uri } })
  return { status = got.status, headers = got.header, body = got.body, truncated = got.truncated }
end

-- What the callers of a bundle get: one thing is asked for as a single request asks for it.
local function shares(bundle, uri)
  if #bundle.ids == 1 then
    return answers.of_one(asked(uri))
  end
  counts.add("bundles")
  counts.add("bundled", bundle.requests)
  counts.add("full", collector.is_full(bundle) and 1 or 0)
  return answers.of_bundle(asked(routes.bundled(bundle.rule, bundle.ids)))
end

-- Waiting. ------------------------------------------------------------------------------------------------------------

local function failed()
  local same = answers.problem(502, "the bundle could not be sent")
  return function()
    return same
  end
end

-- Waits for others, and sends what has come together. Returns nothing where no one else has come.
local function lead(bundle, uri)
  bundle.complete:wait(math.max(0, bundle.till - ngx.now()))
  waiting_room:close(bundle)
  counts.add("waited_us", math.floor(collector.waited(bundle, ngx.now()) * microseconds + 0.5))
  if bundle.requests == 1 then
    return nil
  end
  local ok, result = pcall(shares, bundle, uri)
  if not ok then
    fault(result)
    result = failed()
  end
  bundle.shares = result
  bundle.answered:post(bundle.requests - 1)
  return result
end

local function follow(bundle)
  bundle.answered:wait(bundle.rule.wait + times * in_force.current.timeout + spare)
  return bundle.shares or function()
    return answers.problem(504, "the bundle was not answered in time")
  end
end

local function in_bundle(bundle, complete, uri)
  if complete then
    complete.complete:post(1)
  end
  if bundle.requests > 1 then
    return follow(bundle)
  end
  bundle.complete, bundle.answered = semaphore.new(), semaphore.new()
  return lead(bundle, uri)
end

-- What a request gets together with others; nothing where it continues alone.
local function together(route, id, headers, uri, sent)
  local key = identity.key(route, headers, ngx.var, sent)
  local bundle, complete = waiting_room:join(key, id, route, ngx.now())
  if not bundle then
    counts.add("overflows")
    return nil
  end
  local ok, result = pcall(in_bundle, bundle, complete, uri)
  waiting_room:leave()
  if not ok then
    fault(result)
    return nil
  end
  return result and result(id)
end

-- The answer that the current request gets from its bundle; nothing if it isn't to be bundled, or continues alone.
local function share(sent)
  -- Lua's subrequests do not work there: ngx.location.capture raises an error.
  if (ngx.req.http_version() or 1) >= 2 then
    return nil
  end
  local headers, err = ngx.req.get_headers(most_headers)
  if err then
    return nil
  end
  local uri = ngx.var.request_uri
  local route, id = routes.match(in_force.current.routes, ngx.req.get_method(), uri, headers)
  if not route then
    return nil
  end
  counts.add("requests")
  local one = together(route, id, headers, uri, sent)
  if not one then
    counts.add("calls")
  end
  return one
end

local function answer(one)
  ngx.status = one.status
  for name, value in pairs(one.headers) do
    ngx.header[name] = value
  end
  ngx.header["Content-Type"] = one.kind
  if one.status ~= ngx.HTTP_NO_CONTENT and one.status ~= ngx.HTTP_NOT_MODIFIED then
    ngx.header["Content-Length"] = #one.body
    ngx.print(one.body)
  end
  return ngx.exit(ngx.HTTP_OK)
end

--- Has the current request wait for others, and answers it with its part; lets it continue where it is alone.
-- @param ... the variables that nginx itself sends to the service in this location, such as "$remote_addr"
function M.access(...)
  if ngx.req.is_internal() then
    return nil
  end
  local ok, one = pcall(share, { ... })
  if not ok then
    return fault(one)
  end
  if one then
    return answer(one)
  end
end

--- Answers with what was counted, and with the changes of the rules in force.
function M.status()
  ngx.header["Content-Type"] = "application/json"
  ngx.print(counts.page())
end

-- Life of a worker. ---------------------------------------------------------------------------------------------------

local function take_over()
  local rules = in_force.current
  waiting_room.most_waiting = rules.most_waiting
  counts.in_force(rules.change)
end

local function refresh()
  local ok, changed = pcall(in_force.refresh)
  if not ok then
    return fault(changed)
  end
  if changed then
    take_over()
  end
end

--- Reads the rules; called once before the workers start. Bad ones stop nginx from starting.
function M.start(path)
  if not ngx.shared.bundle_counts then
    error("bundle: nginx.conf lacks lua_shared_dict bundle_counts 1m; in the http block", 0)
  end
  in_force.start(path)
end

--- Begins a worker, which looks at the rules ten times per second.
function M.work()
  waiting_room = collector.new(in_force.current.most_waiting, longest_path)
  take_over()
  ngx.timer.every(0.1, refresh)
end

return M
