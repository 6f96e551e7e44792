-- Rules and the files that they name, as they change on disk.

_G.ngx = { log = function() end }
local cjson = require("cjson")

local folder, in_force, taken

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

local function plan(limit)
  local key = { from = "jwt", claim = "sub", secret_file = folder .. "/secret" }
  local one = { name = "l", key = key, algorithm = "gcra", limit = limit, window = "1s" }
  return cjson.encode({ version = 1, limits = { one } })
end

local function secret()
  return in_force.current.limits[1].key[1].secret
end

-- Opens files as a worker that must not read the secret.
local function without_rights(work)
  local open = io.open
  io.open = function(name, ...) -- luacheck: ignore
    if name:find("/secret$") then
      return nil, name .. ": Permission denied", 13
    end
    return open(name, ...)
  end
  local ok, err = pcall(work)
  io.open = open -- luacheck: ignore
  assert(ok, err)
end

describe("the rules in force", function()
  before_each(function()
    package.loaded["ratelimit.in_force"] = nil
    in_force, taken, folder = require("ratelimit.in_force"), 0, os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    write("secret", "first")
    write("plan.json", plan(5))
    in_force.start(folder .. "/plan.json", function()
      taken = taken + 1
    end)
  end)

  after_each(function()
    os.execute("rm -r " .. folder)
  end)

  it("have the new secret when its file was replaced and the rules are the same", function()
    in_force.refresh()
    assert.are.same({ 1, "first" }, { taken, secret() })
    write("secret", "second")
    in_force.refresh()
    in_force.refresh()
    assert.are.same({ 2, "second" }, { taken, secret() })
  end)

  it("keep the secret while its file is away or empty", function()
    os.remove(folder .. "/secret")
    in_force.refresh()
    assert.are.same({ 1, "first" }, { taken, secret() })
    write("secret", "")
    in_force.refresh()
    assert.are.same({ 1, "first" }, { taken, secret() })
    write("secret", "third")
    in_force.refresh()
    assert.are.same({ 2, "third" }, { taken, secret() })
  end)

  it("change under workers that must not read the secret, and keep it", function()
    write("plan.json", plan(6))
    without_rights(in_force.refresh)
    assert.are.same({ 2, "first", 6 }, { taken, secret(), in_force.current.limits[1].limit })
  end)

  it("are refused with why where their file, or one that they name, is a folder", function()
    local there, err = pcall(in_force.start, folder)
    assert.are.same({ false, ("ratelimit: %s can't be read: %s: Is a directory"):format(folder, folder) }, { there, err })
    os.remove(folder .. "/secret")
    assert(os.execute("mkdir " .. folder .. "/secret"))
    there, err = pcall(in_force.start, folder .. "/plan.json")
    assert.is_false(there)
    assert.is_truthy(err:find("can't be read: " .. folder .. "/secret: Is a directory", 1, true), err)
  end)
end)
