import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { Command, root } from "./support/command.ts"

const stubborn = (stopMs: number): Command =>
  new Command(process.execPath, ["--disable-warning=ExperimentalWarning", path.join(root, "test/cli/support/stubborn.ts"), "service", String(stopMs)], {})

describe("a command that does not close", () => {
  it("is left behind when its stopping time is over, with a word about it", async () => {
    const command = stubborn(300)
    await command.said("up")
    command.signal("SIGTERM")
    const { code, stderr, stdout } = await command.ended
    expect(stdout).toContain("closing")
    expect(stderr).toContain("300 ms")
    expect(code).toBe(1)
  })

  it("is left at once by a second signal", async () => {
    const command = stubborn(60_000)
    await command.said("up")
    command.signal("SIGTERM")
    await command.said("closing")
    command.signal("SIGINT")
    expect((await command.ended).code).toBe(130)
  })
})
