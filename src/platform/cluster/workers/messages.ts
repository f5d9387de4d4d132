/** What a supervisor and its workers tell each other. */
import * as Schema from "effect/Schema"

/** A worker to its supervisor. */
export const FromWorker = Schema.Union([
  /** It serves; the banner is shown for the first one only. */
  Schema.Struct({ gateway: Schema.Literal("ready"), banner: Schema.String }),
  /** A client asked over HTTP that the gateway stop. */
  Schema.Struct({ gateway: Schema.Literal("stop"), kind: Schema.Literals(["restart", "shutdown"]) }),
  /** A client reads its metrics, and wants those of all workers. */
  Schema.Struct({ gateway: Schema.Literal("scrape"), id: Schema.Int }),
  /** Its own, as Prometheus text. */
  Schema.Struct({ gateway: Schema.Literal("told"), round: Schema.Int, text: Schema.String })
])
export type FromWorker = typeof FromWorker.Type

/** A supervisor to its worker: drain and end. By message, because a service manager sends its signal to every process itself. */
export const Drain = Schema.Struct({ gateway: Schema.Literal("drain") })
export type Drain = typeof Drain.Type

/** A supervisor to its workers: tell what you have counted. */
export const Tell = Schema.Struct({ gateway: Schema.Literal("tell"), round: Schema.Int })
export type Tell = typeof Tell.Type

/** A supervisor to the worker that asked: the metrics of all. */
export const Scraped = Schema.Struct({ gateway: Schema.Literal("scraped"), id: Schema.Int, text: Schema.String })
export type Scraped = typeof Scraped.Type
