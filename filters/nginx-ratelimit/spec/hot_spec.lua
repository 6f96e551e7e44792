-- luacheck: globals ngx
_G.ngx = _G.ngx or {}

local support = { now = 0, told = {} }

local function as_worker(act)
  local kept = { ngx.now, ngx.shared, ngx.worker }
  ngx.now = function()
    return support.now
  end
  ngx.worker = {
    id = function()
      return 0
    end,
    count = function()
      return 1
    end,
  }
  ngx.shared = {
    ratelimit_cache = {
      get = function(_, name)
        return support.told[name]
      end,
      set = function(_, name, value)
        support.told[name] = value
      end,
    },
  }
  local ok, err = pcall(act)
  ngx.now, ngx.shared, ngx.worker = kept[1], kept[2], kept[3]
  assert(ok, err)
end

local function rules()
  local limit = { name = "per_client", algorithm = "gcra", limit = 10, window = 60e6, binding = true }
  return { limits = { limit }, hot_keys = 10, balancer = "one", dry_run = false }, limit
end

describe("the hot keys", function()
  it("are told per second of the time that was counted, which may be less than a minute and more", function()
    local hot = require("ratelimit.hot")
    for _, seconds in ipairs({ 20, 80 }) do
      as_worker(function()
        support.now, support.told = 1000, {}
        hot.prepare({ limits = {}, hot_keys = 0 })
        local of, limit = rules()
        hot.prepare(of)
        for _ = 1, 400 do
          hot.count(limit, "ann", false)
        end
        support.now = 1000 + seconds
        hot.publish()
        local line = 'ratelimit_hot_key_requests_per_second{limit="per_client",rank="1"} ' .. 400 / seconds .. "\n"
        assert.truthy(hot.gauges(of):find(line, 1, true))
      end)
    end
  end)

  it("count what was rejected among the requests too", function()
    local hot = require("ratelimit.hot")
    as_worker(function()
      support.now, support.told = 1000, {}
      hot.prepare({ limits = {}, hot_keys = 0 })
      local of, limit = rules()
      hot.prepare(of)
      hot.count(limit, "ann", false)
      hot.count(limit, "ann", true)
      support.now = 1010
      hot.publish()
      local seen = require("cjson").decode(hot.json(of)).limits[1]
      assert.are.same({ 2, 1 }, { seen.requests, seen.rejections })
    end)
  end)
end)
