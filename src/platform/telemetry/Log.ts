/**
 * The gateway's log: effect's loggers replaced by one that writes redacted lines, JSON or for a terminal, into a sink that
 * never blocks.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as LogSink from "./LogSink.ts"
import * as Redact from "./redact.ts"

/** How long the end of the process waits for a slow output, ms. */
export const DRAIN_MS = 500

export type LogFormat = "json" | "pretty"

export interface Options {
  readonly level: LogLevel.LogLevel
  /** `pretty` is for a terminal. */
  readonly format: LogFormat
  /** Default: descriptor 1. */
  readonly destination?: LogSink.Destination | undefined
  readonly bufferBytes?: number | undefined
}

/** Where finished lines go; the access log and the metrics use it too. */
export class LogOutput extends Context.Service<LogOutput, {
  readonly sink: LogSink.LogSink
  readonly format: LogFormat
}>()("gateway/telemetry/LogOutput") {}

/** Where lines go when the options name no place; null = descriptor 1. Tests read them here. */
export const Destination = Context.Reference<LogSink.Destination | null>("gateway/telemetry/LogDestination", { defaultValue: () => null })

const COLORS: Readonly<Record<string, string>> = { FATAL: "35", ERROR: "31", WARN: "33", INFO: "32", DEBUG: "36", TRACE: "90" }

const messageOf = (message: unknown): { readonly text: string; readonly rest: ReadonlyArray<unknown> } => {
  const parts = Array.isArray(message) ? message : [message]
  const texts = parts.filter((part) => typeof part === "string")
  return { text: texts.map(Redact.text).join(" "), rest: parts.filter((part) => typeof part !== "string").map((part) => Redact.value(part)) }
}

/** One event as one line; every text in it has been redacted. */
export const line = (options: Logger.Options<unknown>, format: LogFormat): string => {
  const { rest, text } = messageOf(options.message)
  const annotations = Redact.value(options.fiber.getRef(References.CurrentLogAnnotations)) as Record<string, unknown>
  const error = options.cause.reasons.length > 0 ? Redact.text(Cause.pretty(options.cause)) : undefined
  const level = options.logLevel.toUpperCase()
  const event = { ...annotations, ...rest.length > 0 ? { details: rest } : {}, ...error === undefined ? {} : { error } }
  if (format === "json") {
    return JSON.stringify({ time: options.date.toISOString(), level: level.toLowerCase(), message: text, ...event })
  }
  const fields = Object.entries(event).map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ")
  return `\u001b[90m${options.date.toISOString().slice(11, 23)}\u001b[0m \u001b[${COLORS[level] ?? "0"}m${level.padEnd(5)}\u001b[0m ${text}${fields === "" ? "" : ` \u001b[90m${fields}\u001b[0m`}`
}

const makeLogger = (sink: LogSink.LogSink, format: LogFormat): Logger.Logger<unknown, void> =>
  Logger.make((options) => sink.write(line(options, format)))

/** Replaces the loggers of everything built on it; its end waits briefly for lines that are still on their way. */
export const layer = (options: Options): Layer.Layer<LogOutput> => {
  const output = Layer.effect(
    LogOutput,
    Effect.acquireRelease(
      Effect.map(Destination, (otherwise) => ({
        sink: new LogSink.LogSink({ destination: options.destination ?? otherwise ?? LogSink.destination(1), bufferBytes: options.bufferBytes }),
        format: options.format
      })),
      ({ sink }) =>
        Effect.callback<void>((resume) => sink.whenIdle(() => resume(Effect.void))).pipe(Effect.timeoutOption(Duration.millis(DRAIN_MS)))
    )
  )
  const logger = Layer.unwrap(Effect.map(LogOutput, ({ format, sink }) => Logger.layer([makeLogger(sink, format)])))
  return Layer.mergeAll(logger, Layer.succeed(References.MinimumLogLevel, options.level)).pipe(Layer.provideMerge(output))
}

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** What the operator set; a terminal gets lines for people unless it is told otherwise. */
export const layerOf = ({ logFormat, logLevel }: Values): Layer.Layer<LogOutput> => layer({
  level: levels[logLevel],
  format: logFormat === "auto" ? (process.stdout.isTTY ? "pretty" : "json") : logFormat
})
