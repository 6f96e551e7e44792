--- The decision log: one line a decision, kept in the worker and written in batches, for judging accuracy afterwards.
--
-- Each worker writes its own file `decisions-<balancer>-<pid>.tsv` with a heading. `time_us` is the clock that decided: the
-- store's where it has one, else this machine's. What fitted under a limit while another one rejected the request took nothing:
-- it is not `allowed`, and `decided_by` is `withdrawn`.

local M = {}

local heading = "time_us\tbalancer\tworker\tclient\tlimit\talgorithm\tcost\tallowed\tremaining\tdecided_by\n"
local largest = 512

local lines, count = {}, 0
local file, folder

local function open(path, balancer)
  local name = ("%s/decisions-%s-%d.tsv"):format(path, balancer, ngx.worker.pid())
  local opened, err = io.open(name, "a")
  if not opened then
    ngx.log(ngx.ERR, "ratelimit: the decision log can't be written: ", err)
    return nil
  end
  if opened:seek("end") == 0 then
    opened:write(heading)
  end
  return opened
end

--- Writes what is kept; called on a timer, when much is kept, and when the worker ends.
function M.flush(rules)
  local config = rules and rules.decision_log
  if count == 0 or not config then
    return
  end
  if folder ~= config.folder then
    file, folder = open(config.folder, rules.balancer), config.folder
  end
  if file then
    file:write(table.concat(lines, "", 1, count))
    file:flush()
  end
  count = 0
end

--- Keeps a line for an outcome; of rejections alone where the rules say so.
function M.add(rules, outcome)
  local limit = outcome.limit
  if outcome.allowed and rules.decision_log.rows == "rejected" then
    return
  end
  count = count + 1
  lines[count] = ("%.0f\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n"):format(
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
  )
  if count >= largest then
    M.flush(rules)
  end
end

return M
