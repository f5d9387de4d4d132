/** What a page costs its own thread, from a trace of the browser: other work on the machine is not in it. */
export const sum = (all: ReadonlyArray<number>): number => all.reduce((a, b) => a + b, 0)

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Time of the processor that the thread took, microseconds. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** Milliseconds of the processor that each task of the page's own thread took, in order of length. `trace`: of the category `toplevel`. */
export const tasksOf = (trace: Buffer): ReadonlyArray<number> => {
  const { traceEvents } = JSON.parse(trace.toString("utf8")) as { readonly traceEvents: ReadonlyArray<TraceEvent> }
  const threads = new Set(traceEvents.filter(({ args, name }) => name === "thread_name" && args?.name === "CrRendererMain").map(({ pid, tid }) => `${pid} ${tid}`))
  return traceEvents.flatMap(({ name, ph, pid, tdur, tid }) => ph === "X" && name.endsWith("RunTask") && tdur !== undefined && threads.has(`${pid} ${tid}`) ? [tdur / 1_000] : []).sort((a, b) => a - b)
}
