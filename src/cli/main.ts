/** Picks the command; each one loads only its own modules. */
import * as Launcher from "./Launcher.ts"

/**
 * A start without options skips the command-line parser: it is the one that has to be fast. `bench` has options of its own,
 * which are passed on unread.
 */
export const run = async (args: ReadonlyArray<string>): Promise<void> => {
  const [name, ...rest] = args
  if (name === undefined || (name === "serve" && rest.length === 0)) {
    const { serve } = await import("#src/cli/commands/serve.ts")
    return Launcher.run(serve({}))
  }
  if (name === "bench") {
    const { bench } = await import("#src/cli/commands/bench.ts")
    return Launcher.run(bench(rest))
  }
  const { command } = await import("./commands.ts")
  Launcher.run(command(args))
}
