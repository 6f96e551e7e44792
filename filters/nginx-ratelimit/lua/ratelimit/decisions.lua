--- The decision log: one line a decision, kept in the worker and written in batches, for judging accuracy afterwards.
--
-- Each worker writes its own file `decisions-<balancer>-<pid>.tsv` with a heading. `time_us` is the clock that decided: the
-- store's where it has one, else this machine's. What fitted under a limit while another one rejected the request took nothing:
-- it is not `allowed`, and `decided_by` is `withdrawn`.

local M = {}

local heading = "time_us\tbalancer\tworker\tclient\tlimit\talgorithm\tcost\tallowed\tremaining\tdecided_by\n"
local largest = 512
-- Lines that wait for a folder to be made or emptied; more are lost, and the log of errors says how many.
local most = 16384

local lines, count, lost = {}, 0, 0
local file, folder
local is_told = false

local function open(path, balancer)
  local name = ("%s/decisions-%s-%d.tsv"):format(path, balancer, ngx.worker.pid())
  local opened, err = io.open(name, "a")
  if not opened then
    return nil, err
  end
  if opened:seek("end") == 0 then
    opened:write(heading)
  end
  return opened
end

-- Once per trouble: it is tried again five times a second.
local function complain(err)
  if not is_told then
    is_told = true
    ngx.log(ngx.ERR, "ratelimit: the decision log can't be written: ", err, "; trying again")
  end
end

local function write_all()
  local ok, err = file:write(table.concat(lines, "", 1, count))
  if ok then
    ok, err = file:flush()
  end
  return ok, err
end

local function find_file(config, balancer)
  if not file or folder ~= config.folder then
    local err
    file, err = open(config.folder, balancer)
    folder = config.folder
    return file ~= nil, err
  end
  return true
end

local function forget_lines()
  if lost > 0 then
    ngx.log(ngx.ERR, "ratelimit: the decision log lacks ", lost, " lines")
  end
  count, lost, is_told = 0, 0, false
end

--- Writes what is kept; called on a timer, when much is kept, and when the worker ends. What can't be written is kept.
function M.flush(rules)
  local config = rules and rules.decision_log
  if count == 0 or not config then
    return
  end
  local ok, err = find_file(config, rules.balancer)
  if ok then
    ok, err = write_all()
  end
  if ok then
    return forget_lines()
  end
  if file then
    file:close()
    file = nil
  end
  complain(err)
end

local function keep(line)
  if count == most then
    lost = lost + 1
    return
  end
  count = count + 1
  lines[count] = line
end

--- Keeps a line for an outcome; of rejections alone where the rules say so.
function M.add(rules, outcome)
  local limit = outcome.limit
  if outcome.allowed and rules.decision_log.rows == "rejected" then
    return
  end
  keep(("%.0f\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n"):format(
    outcome.time,
    rules.balancer,
    ngx.worker.id(),
    outcome.client,
    limit.label or limit.name,
    limit.algorithm,
    outcome.cost,
    outcome.allowed and not outcome.withdrawn and 1 or 0,
    outcome.remaining,
    outcome.withdrawn and "withdrawn" or outcome.by
  ))
  -- The timer's last call came when the worker began to end; requests that are under way then are decided later.
  if count % largest == 0 or ngx.worker.exiting() then
    M.flush(rules)
  end
end

return M
