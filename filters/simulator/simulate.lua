--- Simulates rate limiting in simulated time, with the filter's own decision code.
--
--   luajit simulate.lua [scenarios.jsonl]
--
-- Reads the file, or standard input without one: one JSON object per line, a scenario (README.md). Writes one per line: its id,
-- the judge's summary, the ends of the judge's scale on the same arrivals, and the CPU seconds it took. A scenario with
-- "decisions": "file.csv" also writes every decision there.

local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here
  .. "/?.lua;"
  .. here
  .. "/../nginx-ratelimit/lua/?.lua;"
  .. here
  .. "/../nginx-ratelimit/lua/?/init.lua;"
  .. package.path

local cjson = require("cjson.safe")
local simulation = require("sim.scenario")

local function decisions_to(path)
  local file, err = io.open(path, "w")
  if not file then
    error("decisions can't be written: " .. err, 0)
  end
  file:write("client,time_us,cost,allowed\n")
  return file,
    function(client, time, cost, allowed)
      file:write(("%d,%.0f,%d,%s\n"):format(client, time, cost, allowed and "True" or "False"))
    end
end

local function run(scenario)
  local file, write
  if scenario.decisions then
    file, write = decisions_to(scenario.decisions)
  end
  local summary = simulation.run(scenario, write)
  if file then
    file:close()
  end
  return summary
end

-- The ends of the scale depend on the arrivals and the limit alone, which most scenarios of a map share.
local scales = {}

local function scale_of(scenario)
  local key = cjson.encode({
    scenario.recorded or scenario.clients,
    scenario.seed,
    scenario.limit,
    scenario.window_us,
    scenario.duration_us,
    scenario.tolerance_us,
  })
  scales[key] = scales[key] or simulation.scale(scenario)
  return scales[key]
end

local function answer(line)
  local scenario, err = cjson.decode(line)
  if not scenario then
    return { error = "not JSON: " .. err }
  end
  local started = os.clock()
  local ok, summary = pcall(run, scenario)
  if not ok then
    return { id = scenario.id, error = tostring(summary) }
  end
  local took = os.clock() - started
  return { id = scenario.id, measured = summary, scale = scale_of(scenario), cpu_s = took }
end

for line in io.lines(arg[1]) do
  io.write(cjson.encode(answer(line)), "\n")
  io.flush()
end
