-- The command `ratelimit`, over files.

local cjson = require("cjson.safe")
local commands = require("ratelimit.offline.commands")
local csv = require("ratelimit.offline.csv")
local world = require("ratelimit.offline.world")

local paths = {}

local function file(text)
  local path = os.tmpname()
  local opened = assert(io.open(path, "wb"))
  opened:write(text)
  opened:close()
  paths[#paths + 1] = path
  return path
end

local function sink()
  local kept = { text = "" }
  function kept.write(_, ...)
    kept.text = kept.text .. table.concat({ ... })
    return kept
  end
  return kept
end

local function run(...)
  local out, err = sink(), sink()
  local code = commands.run({ ... }, out, err)
  return code, out.text, err.text
end

local function limit(fields)
  local rule = '{"name": "%s", "key": {"from": "header", "name": "X-Api-Key"}, "algorithm": "%s", "limit": %d, "window": "60s"%s}'
  return rule:format(fields.name or "per_client", fields.algorithm or "fixed_window", fields.limit or 2, fields.more or "")
end

local function plan(limits, more)
  return file(('{"version": 1, "limits": [%s]%s}'):format(table.concat(limits, ","), more or ""))
end

local function tested(rules, lines, ...)
  return run("test", rules, file(table.concat(lines, "\n") .. "\n"), ...)
end

after_each(function()
  for _, path in ipairs(paths) do
    os.remove(path)
  end
  paths = {}
end)

describe("a test of rules", function()
  local heading = "time,method,path,header:X-Api-Key,repeat,expect,limit"

  it("ends with 0 when every request is as expected", function()
    local code, out = tested(plan({ limit({}) }), {
      heading,
      "0s,GET,/a,ann,2,allowed,",
      "59.9s,GET,/a,ann,,rejected,per_client",
      "59.9s,,/a,bob,,allowed,",
      "1m,,/a,ann,,allowed,",
    })
    assert.equal(0, code, out)
    assert.is_truthy(out:find("5 requests on 4 lines; 4 lines as expected, 0 not", 1, true))
  end)

  it("ends with 1 and names the line, the request and what each limit said", function()
    local code, out = tested(plan({ limit({}) }), { heading, "0s,GET,/a,ann,3,allowed," })
    assert.equal(1, code)
    assert.is_truthy(out:find(":2: expected allowed, got rejected by per_client", 1, true), out)
    assert.is_truthy(out:find("GET /a, from 192.0.2.1, X-Api-Key: ann, at 0s, request 3 of 3", 1, true), out)
    assert.is_truthy(out:find("per_client rejected it: 0 of 2 left", 1, true), out)
  end)

  it("says the same to programs, as one JSON object with lists even where they are empty", function()
    local code, out = tested(plan({ limit({}) }), { heading, "0s,GET,/a,ann,3,allowed,per_client" }, "--json")
    assert.equal(2, code)
    assert.is_truthy(cjson.decode(out).problems[1].message:find(":2: limit says who rejects", 1, true), out)
    code, out = tested(plan({ limit({}) }), { heading, "0s,GET,/{},ann,3,allowed," }, "--json")
    assert.equal(1, code)
    assert.same({
      requests = 3,
      lines = 1,
      wrong = {
        {
          line = 2,
          number = 3,
          method = "GET",
          path = "/{}",
          time_s = 0,
          expected = "allowed",
          got = "rejected",
          got_by = { "per_client" },
        },
      },
      limits = { { name = "per_client", allowed = 2, rejected = 1, withdrawn = 0 } },
    }, cjson.decode(out))
    code, out = tested(plan({ limit({}) }), { heading, "0s,GET,/a,ann,2,allowed," }, "--json")
    assert.equal(0, code)
    assert.is_truthy(out:find('"wrong":[]', 1, true), out)
  end)

  it("ends with 1 when another limit rejects than was expected", function()
    local both = plan({ limit({}), limit({ name = "other", limit = 1 }) })
    local code, out = tested(both, { heading, "0s,,/a,ann,,allowed,", "0s,,/a,ann,,rejected,per_client" })
    assert.equal(1, code)
    assert.is_truthy(out:find("expected rejected by per_client, got rejected by other", 1, true), out)
  end)

  it("holds limits to their route and method, on the path that nginx routes", function()
    local match = ', "match": {"path_prefix": "/login", "methods": ["POST"]}'
    local rules = plan({ limit({ name = "log_in", limit = 1, more = match }) })
    local code, out = tested(rules, {
      heading,
      "0s,POST,/login,ann,,allowed,",
      "0s,POST,/x/..//log%69n?a=1,ann,,rejected,log_in",
      "0s,GET,/login,ann,5,allowed,",
      "0s,POST,/loginx,ann,5,allowed,",
    })
    assert.equal(0, code, out)
  end)

  it("reads a request as the servers behind do, and as the rules say", function()
    local match = ', "match": {"path_prefix": "/login", "methods": ["GET"]}'
    local rules = plan({ limit({ name = "log_in", limit = 4, more = match }) })
    local code, out = tested(rules, {
      heading,
      "0s,GET,/x/..;/login,ann\t,,allowed,",
      "0s,GET,/LOGIN,\tann,,allowed,",
      "0s,HEAD,/login/../x,ann,,allowed,",
      "0s,GET,/%6cogin/x,ann ,,allowed,",
      "0s,GET,/login,ann,,rejected,log_in",
      "0s,GET,/login#x,ann,,refused,",
    })
    assert.equal(0, code, out)
    local exact = plan({ limit({ limit = 1, more = ', "match": {"path_prefix": "/login"}' }) }, ', "servers": ["go"]')
    assert.equal(0, (tested(exact, { heading, "0s,GET,/x/..;/login,ann,3,allowed,", "0s,GET,/login,ann,,allowed," })))
  end)

  it("counts a long log without a copy of it for each request", function()
    local rules = plan({ limit({ algorithm = "sliding_window_log", limit = 100000 }), limit({ name = "other", limit = 3000 }) })
    local code, out = tested(rules, { heading, "0s,GET,/,ann,3000,allowed,", "0s,GET,/,ann,2000,rejected,other" })
    assert.equal(0, code, out)
    assert.is_truthy(out:find("per_client +3000 +0 +2000"), out)
  end)

  it("counts addresses by their network, and lists of them too", function()
    local of_address = [[{"name": "a", "key": {"from": "address"}, "algorithm": "fixed_window", "limit": 1, "window": "60s",
      "deny": ["2001:db8:bad::/64"]}]]
    local code, out = tested(plan({ of_address }), {
      "path,address,expect",
      "/,2001:db8::1,allowed",
      "/,2001:db8::ffff:2,rejected",
      "/,192.0.2.9,allowed",
      "/,::ffff:192.0.2.9,rejected",
      "/,2001:db8:bad::7,denied",
    })
    assert.equal(0, code, out)
  end)

  it("says of a limit that counted nothing that it did", function()
    local rules = plan({ limit({ more = ', "match": {"path_prefix": "/b"}' }) })
    local code, out = tested(rules, { heading, "0s,GET,/a,ann,,allowed," })
    assert.equal(0, code)
    assert.is_truthy(out:find("per_client +0 +0 +0  no request was counted"), out)
  end)

  it("takes from no limit what another one rejects", function()
    local narrow = limit({ name = "narrow", limit = 1, more = ', "match": {"path_prefix": "/n"}' })
    local both = plan({ limit({ limit = 5 }), narrow })
    local code, out = tested(both, {
      heading,
      "0s,,/n,ann,,allowed,",
      "0s,,/n,ann,9,rejected,narrow",
      "0s,,/a,ann,4,allowed,",
      "0s,,/a,ann,,rejected,per_client",
    })
    assert.equal(0, code, out)
  end)

  it("knows denied and refused clients, tiers, costs and addresses", function()
    local rules = plan({
      limit({
        more = [[, "deny": ["eve"], "tiers": {"gold": {"limit": 3}}, "clients": {"gus": "gold"},
      "cost": {"from": "header", "name": "X-Cost", "most": 2}, "missing_key": "reject"]],
      }),
    })
    local code, out = tested(rules, {
      "path,header:X-Api-Key,header:X-Api-Key,header:X-Cost,repeat,expect",
      "/,eve,,,,denied",
      "/,,,,,refused",
      "/,ann,bob,,,refused",
      "/,gus,,,3,allowed",
      "/,gus,,,,rejected",
      "/,zoe,,2,,allowed",
      "/,zoe,,,,rejected",
    })
    assert.equal(0, code, out)
  end)

  it("reads the claim of a signed token and holds it to the day that is said", function()
    local secret = file("key")
    local rules = plan({
      [[{"name": "t", "key": {"from": "jwt", "claim": "sub", "secret_file": "]]
        .. secret
        .. [["}, "missing_key": "reject", "algorithm": "gcra", "limit": 1, "window": "60s"}]],
    })
    -- {"alg":"HS256"} {"sub":"ann","exp":1800000000}, signed with "key".
    local token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4iLCJleHAiOjE4MDAwMDAwMDB9.Xgx-kjQEb11xT4ue1ToBqobnYHEwLr-FWJ78H1KXV6c"
    local lines = { "path,header:Authorization,expect", "/,Bearer " .. token .. ",allowed" }
    assert.equal(0, (tested(rules, lines)))
    assert.equal(1, (tested(rules, lines, "--start", "2030-01-01")))
  end)

  it("lets everything pass in a dry run, unless it is enforced", function()
    local rules = plan({ limit({}) }, ', "dry_run": true')
    local lines = { heading, "0s,,/,ann,2,allowed,", "0s,,/,ann,,rejected,per_client" }
    local code, out, err = tested(rules, lines)
    assert.equal(1, code)
    assert.is_truthy(out:find("would have rejected it (shadow)", 1, true), out)
    assert.is_truthy(err:find("--enforce", 1, true))
    assert.equal(0, (tested(rules, lines, "--enforce")))
  end)

  it("decides leased limits as if every request asked the store", function()
    local rules = plan({ limit({ more = ', "lease": {"mode": "lazy"}' }) })
    assert.equal(0, (tested(rules, { heading, "0s,,/,ann,2,allowed,", "0s,,/,ann,,rejected,per_client" })))
  end)

  it("lists every problem of the requests with its line, and ends with 2", function()
    local code, _, err = tested(plan({ limit({}) }), {
      heading,
      "5s,GET,/a,ann,,allowed,",
      "1s,get,a,ann,0,allow,",
      "5,GET,/a,ann,,rejected,per_clint",
      "5s,GET",
      "5s,GET,/a,ann,,allowed,per_client",
    })
    assert.equal(2, code)
    for _, words in ipairs({
      ":3: time is 1s, before that of an earlier line",
      ':3: method is "get"',
      ':3: path is "a"',
      ':3: repeat is "0"',
      ':3: expect is "allow"; allowed: allowed, rejected, denied, refused',
      ':4: time is "5"; write a duration',
      ':4: no limit is called "per_clint"; the rules have per_client',
      ":5: has 2 fields; the heading has 7",
      ":6: limit says who rejects",
    }) do
      assert.is_truthy(err:find(words, 1, true), words .. " in\n" .. err)
    end
  end)

  it("refuses columns that nobody reads, and a file without requests", function()
    local code, _, err = tested(plan({ limit({}) }), { "path,expect,methods", "/,allowed,GET" })
    assert.equal(2, code)
    assert.is_truthy(err:find(':1: no column is called "methods"; allowed: time, method, path', 1, true), err)
    code, _, err = tested(plan({ limit({}) }), { "" })
    assert.equal(2, code)
    assert.is_truthy(err:find("has no request", 1, true), err)
  end)
end)

describe("the command", function()
  it("lists every problem of rules and ends with 2", function()
    local code, _, err = run("check", plan({ limit({ limit = 0 }), limit({ algorithm = "tokens" }) }))
    assert.equal(2, code)
    assert.is_truthy(err:find("limits[0].limit", 1, true) and err:find("limits[1].algorithm", 1, true), err)
  end)

  it("takes the rules that are shipped", function()
    for _, name in ipairs({ "first-plan", "plan" }) do
      assert.equal(0, (run("check", "examples/" .. name .. ".json")))
    end
    assert.equal(0, (run("test", "examples/plan.json", "examples/requests.csv")))
  end)

  it("ends with 2 for what it can't use, and says what to write", function()
    for _, words in ipairs({
      { "tset" },
      { "test", "a" },
      { "check", "/nowhere" },
      { "test", "examples/plan.json", "b", "--start", "May" },
      { "report" },
      { "report", "/nowhere" },
      { "report", "a", "--top", "0" },
      { "check", "--all", "a" },
      { "report", "a", "--top" },
    }) do
      local code, out, err = run(unpack(words))
      assert.equal(2, code, table.concat(words, " "))
      assert.equal("", out)
      assert.is_truthy(err:find("^ratelimit: "))
    end
  end)

  it("reads no device to its end, as that has none", function()
    local code, _, err = run("check", "/dev/zero")
    assert.equal(2, code)
    assert.equal("ratelimit: /dev/zero: is longer than 67108864 bytes\n", err)
  end)

  it("says that a folder isn't a file, whichever file was to be read", function()
    for _, words in ipairs({ { "check", "/" }, { "test", "examples/plan.json", "/" }, { "report", "/" } }) do
      local code, out, err = run(unpack(words))
      assert.are.same({ 2, "" }, { code, out }, words[1])
      assert.equal("ratelimit: /: Is a directory\n", err)
    end
  end)

  it("prints its help", function()
    local code, out = run("--help")
    assert.equal(0, code)
    assert.is_truthy(out:find("ratelimit test PLAN REQUESTS", 1, true))
  end)
end)

describe("a report on decision logs", function()
  local heading = "time_us\tbalancer\tworker\tclient\tlimit\talgorithm\tcost\tallowed\tremaining\tdecided_by"

  local function line(seconds, client, allowed, by)
    return ("%d000000\tlb1\t0\t%s\tper_client\tgcra\t1\t%d\t0\t%s"):format(1700000000 + seconds, client, allowed, by or "store")
  end

  it("says who was rejected, how often and when", function()
    local log = file(table.concat({
      heading,
      line(0, "header=ann", 1),
      line(1, "header=ann", 0),
      line(2, "header=bob", 0),
      line(9, "header=ann", 0),
      line(9, "header=cy", 0, "withdrawn"),
      "",
    }, "\n"))
    local code, out = run("report", log)
    assert.equal(0, code)
    assert.is_truthy(out:find("per_client: 3 of 5 requests rejected (60.00 %); clients: 2;", 1, true), out)
    assert.is_truthy(out:find("header=ann +2 of 3  2023%-11%-14T22:13:21Z to 2023%-11%-14T22:13:29Z"), out)
    assert.is_falsy(out:find("header=cy", 1, true))
  end)

  it("shows the clients with the most, and says how many more there are", function()
    local log = file(table.concat({ heading, line(0, "a", 0), line(0, "b", 0), line(1, "b", 0), "" }, "\n"))
    local _, out = run("report", log, "--top", "1")
    assert.is_truthy(out:find("  b ", 1, true), out)
    assert.is_truthy(out:find("clients not shown: 1", 1, true), out)
  end)

  it("gives no share where only rejections were logged", function()
    local _, out = run("report", file(heading .. "\n" .. line(0, "a", 0) .. "\n"))
    assert.is_truthy(out:find("per_client: 1 rejected; clients: 1;", 1, true), out)
  end)

  it("takes a last line that is cut short, and names any other that isn't a decision", function()
    local log = file(table.concat({ heading, "nonsense", line(0, "a", 0), "17000" }, "\n"))
    local code, _, err = run("report", log)
    assert.equal(0, code)
    assert.is_truthy(err:find(":2: isn't a line of a decision log", 1, true), err)
    assert.is_falsy(err:find(":4:", 1, true))
  end)
end)

describe("comma-separated values", function()
  it("may be quoted, and keep the line on which they begin", function()
    local records = csv.parse('a,"b ""c"", d"\r\n\n"two\nlines",e\n')
    assert.are.same({ { "a", 'b "c", d', line = 1 }, { "two\nlines", "e", line = 3 } }, records)
  end)

  it("that are broken are told with their line", function()
    assert.are.same({ nil, 2, "a quoted field does not end" }, { csv.parse('a\n"b') })
    assert.are.same({ nil, 1, "text follows the quote that ends a field" }, { csv.parse('"a"b,c') })
  end)
end)

describe("a path", function()
  for path, normal in pairs({
    ["/"] = "/",
    ["/a/b"] = "/a/b",
    ["//a///b/"] = "/a/b/",
    ["/a/./b/../c"] = "/a/c",
    ["/a/.."] = "/",
    ["/%61%2Fb"] = "/a/b",
    ["/a/b/."] = "/a/b/",
  }) do
    it(path .. " is routed as " .. normal, function()
      assert.equal(normal, world.normalized(path))
    end)
  end
end)
