/**
 * How much CPU the rest of the machine used during a run: the first thing to look at when a number surprises. Interrupt
 * time that the kernel books on no process counts as foreign, so a small rest is normal.
 */
import { cpuNanoseconds, machineBusyMs } from "#bench/http/servers/ProcFs.ts"

const WORTH_A_NOTE = 0.3

export class ForeignLoad {
  readonly #begun = performance.now()
  readonly #busyMs = machineBusyMs()
  readonly #ownNs = cpuNanoseconds(process.pid)

  /** Cores that were busy with something else, on average since the start. */
  cores(): number {
    const elapsed = performance.now() - this.#begun
    const own = (cpuNanoseconds(process.pid) - this.#ownNs) / 1e6
    return Math.max(0, machineBusyMs() - this.#busyMs - own) / elapsed
  }

}

export const foreignNote = (cores: number): ReadonlyArray<string> =>
  cores < WORTH_A_NOTE ? [] : [`other processes used ${cores.toFixed(1)} cores`]
