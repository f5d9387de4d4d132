/** The commands as `--help` prints them, without running one. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { version } from "#schemas/version.ts"
import type { Described } from "#src/management/Assembled.ts"
import { gateway } from "./commands.ts"
import { Launcher } from "./Launcher.ts"

const formatter = CliOutput.defaultFormatter({ colors: false })

/** Nothing is started: help alone is asked for. */
const idle: Launcher["Service"] = { serves: () => {}, stopping: Effect.void, restart: Effect.void }

const helpOf = (path: ReadonlyArray<string>) => Effect.gen(function*() {
  let help = ""
  const presenter: CliOutput.Presenter = {
    present: (event) => Effect.sync(() => {
      if (event._tag === "Help") help = formatter.formatHelpDoc(event.helpDoc)
    })
  }
  yield* Effect.ignore(Command.runWith(gateway, { version })([...path, "--help"])).pipe(
    Effect.provideService(Launcher, idle),
    Effect.provide(Layer.mergeAll(NodeServices.layer, CliOutput.layerPresenter(presenter), CliConfig.layer({ builtIns: [GlobalFlag.Help] })))
  )
  return help.trim()
})

const below = (command: Command.Command.Any): ReadonlyArray<Command.Command.Any> => command.subcommands.flatMap(({ commands }) => [...commands])

export const commands = (): Promise<Described["commands"]> => Effect.runPromise(Effect.forEach(
  below(gateway).filter(({ unlisted }) => !unlisted),
  (command) => Effect.map(
    Effect.forEach([[command.name], ...below(command).map((inner) => [command.name, inner.name])], helpOf),
    (help) => ({ name: command.name, description: command.description ?? "", help })
  )
))
