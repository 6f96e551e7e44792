-- The store on MariaDB over a server whose answers are the test's.

local said, heard

-- Answers a query as the test says: rows, or nothing, an error and its code.
local function query(_, text)
  heard[#heard + 1] = text:match("^%u+ ?@?[%w_]*")
  local answer = table.remove(said, 1)
  if answer[1] then
    return answer[1]
  end
  return nil, answer[2], answer[3]
end

package.loaded["ratelimit.wire.connection"] = {
  deadline = function(address)
    return address.timeout
  end,
}
package.loaded["ratelimit.wire.mysql"] = {
  query = query,
  quote = function(text)
    return "'" .. text .. "'"
  end,
  call = function(_, text, talk)
    return talk("open", text)
  end,
}
package.loaded["ratelimit.stores.lines"] = {
  busy = "busy",
  new = function()
    return {
      together = function(_, _, request, ask)
        local rows, err = ask({ request })
        return rows, err
      end,
    }
  end,
}

local limit = { algorithm = "gcra", limit = 5, window = 1e6, burst = 5, sub_windows = 1 }

-- What comes of a request when the server answers so.
local function asked(...)
  local mariadb = require("ratelimit.stores.mariadb")
  said, heard = { ... }, {}
  return mariadb.new({ address = { timeout = 0.05 } }):decide({ { key = "ann", limit = limit, verb = "take", amount = 1 } })
end

local granted = { { { "7", "1", "4", "2", "0", "3", "1" } } }
local rolled_back = { {} }

describe("the store on MariaDB", function()
  it("reads each column of an answer", function()
    local rows = asked(granted)
    local answer = { allowed = true, remaining = 4, reset = 2, retry_after = 0, delay = 3, granted = 1, time = 7 }
    assert.are.same({ { answer, time = 7 } }, rows)
  end)

  for code, words in pairs({ [1205] = "waited too long for a row", [1213] = "met a deadlock" }) do
    it("is busy and well when it " .. words .. ", once that is rolled back", function()
      assert.are.same({ nil, "busy" }, { asked({ nil, "locked", code }, rolled_back) })
      assert.are.same({ "SET @ratelimit_denied", "ROLLBACK" }, heard)
    end)
  end

  it("is busy and well when its time was over while it waited for a row", function()
    assert.are.same({ nil, "busy" }, { asked({ nil, "time", 1969 }, { { { "1" } } }, rolled_back) })
  end)

  it("is busy and well when it answered and had no time left to say that it waited", function()
    assert.are.same({ nil, "busy" }, { asked({ nil, "time", 1969 }, { nil, "time", 1969 }, rolled_back) })
  end)

  it("has failed when its time was over though it waited for no row", function()
    assert.are.same({ nil, "time" }, { asked({ nil, "time", 1969 }, { { { "0" } } }) })
  end)

  it("has failed for every other reason, and reports that one", function()
    assert.are.same({ nil, "no such procedure" }, { asked({ nil, "no such procedure", 1305 }) })
    assert.are.same({ "SET @ratelimit_denied" }, heard)
  end)

  it("refuses an answer for fewer limits than it was asked for", function()
    local _, err = asked({ {} })
    assert.equal("the server answered 0 limits of 1", err)
  end)
end)
