local server_clock = require("ratelimit.stores.server_clock")

describe("the clock of a server", function()
  it("is not known before an answer, nor after a step of it", function()
    local clock = server_clock.new()
    assert.equal(-1, clock:before(5))
    clock:learn(100, 1100, 120)
    clock:forget()
    assert.equal(-1, clock:before(5))
  end)

  it("says until when an answer may leave that takes the quickest way back of all", function()
    local clock = server_clock.new()
    clock:learn(100, 1140, 150) -- between 990 and 1040 ahead, or ten back
    assert.equal(1190, clock:before(200))
    clock:learn(200, 1203, 205) -- between 998 and 1003: two back
    assert.equal(1298, clock:before(300))
    clock:learn(300, 1340, 350) -- nothing new
    assert.equal(1398, clock:before(400))
  end)

  it("follows a step, either way", function()
    local clock = server_clock.new()
    clock:learn(100, 1100, 120)
    clock:learn(200, 9200, 220)
    assert.equal(9280, clock:before(300))
    clock:learn(300, 310, 320)
    assert.equal(390, clock:before(400))
  end)
end)
