import { once } from "node:events"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { Command, root } from "./support/command.ts"

const stubborn = (stopMs: number): Command =>
  new Command(process.execPath, ["--disable-warning=ExperimentalWarning", path.join(root, "test/cli/support/stubborn.ts"), "service", String(stopMs)], {})

const longBytes = 4 * 1024 * 1024
const talker = (end: string): ReadonlyArray<string> =>
  ["--disable-warning=ExperimentalWarning", path.join(root, "test/cli/support/talker.ts"), end, String(longBytes)]

describe("a command that prints more than a pipe holds", () => {
  it.each([["ends", 0], ["fails", 1]] as const)("has it read to its last byte before it %s", async (end, expected) => {
    const { code, stdout } = await new Command(process.execPath, talker(end), {}).ended
    expect([code, stdout.length]).toEqual([expected, longBytes + 1])
  })

  it("ends when its reader has left", async () => {
    const line = ["exec 3>&1", `"${process.execPath}" ${talker("ends").join(" ")} | head -c 3 >&3`, "echo ${PIPESTATUS[0]}"].join("\n")
    const { stdout } = await new Command("bash", ["--norc", "-c", line], {}).ended
    expect(stdout).toBe("xxx0\n")
  })

  it("is left at once by a signal while nobody reads", async () => {
    const command = new Command(process.execPath, talker("ends"), {})
    command.child.stdout.pause()
    await once(command.child.stdout, "readable")
    command.signal("SIGINT")
    const [code] = await once(command.child, "exit")
    expect(code).toBe(130)
    command.child.stdout.resume()
  })
})

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
