/** How long a gateway's event loop stands still, seen from inside (`turns.mjs`) and from another process (`pinger.mjs`). */
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { createInterface } from "node:readline"
import type { Spawned } from "./gateway.ts"
import { eventually } from "./operator.ts"

/** Another process that asks the address again and again. */
export const startPinger = (url: string) => {
  const child = spawn(process.execPath, [Path.resolve("test/support/pinger.mjs"), url], { stdio: ["pipe", "pipe", "inherit"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    /** The slowest answer since the last question, ms. */
    slowest: async (): Promise<number> => {
      child.stdin.write("\n")
      return Number((await lines.next()).value)
    },
    stop: () => child.stdin.end()
  }
}

/**
 * Longest turn of the loop, ms of processor time beyond a copy of the bytes: 50 on a quiet machine (GATEWAY_TEST_FULL=1). Busy processes
 * beside it take its caches and make the same work cost up to three times as much; bodies that are parsed on the loop take 1,700.
 */
export const longestMs = process.env["GATEWAY_TEST_FULL"] === "1" ? 50 : 150

/** The clock of turns in a gateway that is started with `environment`. */
export const turnClock = () => {
  const file = Path.join(Os.tmpdir(), `turns-${process.pid}`)
  const told = (): ReadonlyArray<number> => Fs.readFileSync(file, "utf8").split(" ").map(Number)
  return {
    environment: { NODE_OPTIONS: `--import=${Path.resolve("test/support/turns.mjs")}`, GATEWAY_TEST_TURNS: file },
    /** The longest turn (ms of processor time) while the work ran, beyond what a copy of its bodies takes: all of them may arrive in one turn. */
    longest: async (gateway: Pick<Spawned, "pid">, work: () => Promise<unknown>, bodies = 4): Promise<number> => {
      const [before = 0] = told()
      process.kill(gateway.pid(), "SIGUSR2")
      await eventually(() => Promise.resolve(told()[0]), (begun) => begun === before + 1, "the clock of turns began anew")
      await work()
      const [, longest = NaN, copying = NaN] = told()
      return longest - bodies * copying
    }
  }
}
