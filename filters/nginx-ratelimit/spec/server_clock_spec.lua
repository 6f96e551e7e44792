local server_clock = require("ratelimit.stores.server_clock")

describe("the clock of a server", function()
  it("is not known before an answer, nor after a step of it", function()
    local clock = server_clock.new()
    assert.equal(-1, clock:at(5))
    clock:learn(100, 1100, 120)
    clock:forget()
    assert.equal(-1, clock:at(5))
  end)

  it("is never thought to be behind, and ahead by no more than the quickest exchange took", function()
    local clock = server_clock.new()
    clock:learn(100, 1140, 150) -- between 990 and 1040 ahead
    assert.equal(1240, clock:at(200))
    clock:learn(200, 1203, 205) -- between 998 and 1003: the better one
    assert.equal(1303, clock:at(300))
    clock:learn(300, 1340, 350) -- nothing new
    assert.equal(1403, clock:at(400))
  end)

  it("follows a step, either way", function()
    local clock = server_clock.new()
    clock:learn(100, 1100, 120)
    clock:learn(200, 9200, 220)
    assert.equal(9300, clock:at(300))
    clock:learn(300, 310, 320)
    assert.equal(410, clock:at(400))
  end)
end)
