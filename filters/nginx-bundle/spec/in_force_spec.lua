-- Rules as they lie on disk.

describe("the rules in force", function()
  it("are refused with why where their file is a folder", function()
    package.loaded["bundle.in_force"] = nil
    local there, err = pcall(require("bundle.in_force").start, "/")
    package.loaded["bundle.in_force"] = nil
    assert.are.same({ false, "bundle: / can't be read: /: Is a directory" }, { there, err })
  end)
end)
