/**
 * The options of a simulator, with their defaults.
 */
import type { Script } from "./Script.ts"

export interface Options {
  readonly host?: string
  /** 0 takes a free port. */
  readonly port?: number
  /** Keys that are accepted; without it any key, or none. */
  readonly keys?: ReadonlyArray<string>
  /** Laid under every script, for instance `{ paceMs: 20 }`. */
  readonly defaults?: Script
  /** Further model ids and what they do; `*` takes every id that is otherwise unknown. */
  readonly models?: { readonly [id: string]: Script }
  /** Heed the request header `x-sim-script`. Default false: a client must not be able to script a shared simulator. */
  readonly trustHeaders?: boolean
  /** The `/__sim` endpoints. Default: only on a loopback address. */
  readonly control?: boolean
  /** Entries in the truth log; 0 turns it off and keeps the totals. Default 10,000. */
  readonly logSize?: number
  /** Bytes of request bodies that the log keeps in all. Default 64 MiB. */
  readonly logBodyBytes?: number
  /** Keep whole credentials in the log. Default false: last four characters and a hash. */
  readonly recordSecrets?: boolean
  /** Largest request body. Default 64 MiB. */
  readonly bodyLimitBytes?: number
  /** Equal requests share their reply's frames and ids: the cheapest stream, for benchmarks. Default false. */
  readonly shareReplies?: boolean
}

const MIB = 1024 * 1024

export const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")

export const resolve = (options: Options) => {
  const host = options.host ?? "127.0.0.1"
  return {
    host,
    port: options.port ?? 0,
    keys: options.keys === undefined ? null : new Set(options.keys),
    defaults: options.defaults ?? {},
    models: new Map(Object.entries(options.models ?? {})),
    trustHeaders: options.trustHeaders ?? false,
    control: options.control ?? isLoopback(host),
    logSize: options.logSize ?? 10_000,
    logBodyBytes: options.logBodyBytes ?? 64 * MIB,
    recordSecrets: options.recordSecrets ?? false,
    bodyLimitBytes: options.bodyLimitBytes ?? 64 * MIB,
    shareReplies: options.shareReplies ?? false
  }
}

export type SimulatorSettings = ReturnType<typeof resolve>
