/** What all exchanges of one server share. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Ticker from "#actors/Ticker.ts"
import type { OverflowHost } from "#src/platform/server/body/Overflow.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { type ClientAddress, defaults, type ServerOptions } from "#src/platform/server/ServerOptions.ts"
import { Watch } from "#src/platform/server/Watch.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { Roster } from "#src/platform/structures/Roster.ts"
import { Arrivals } from "./Arrivals.ts"
import type { UwsExchange } from "./UwsExchange.ts"

/** Bytes of bodies that lie in files at once. */
const overflowBytes = 1024 * 1024 * 1024
/** Journal and database may share their disk. */
const overflowReserveBytes = 2 * overflowBytes

export interface ExchangeHost {
  readonly maxPendingBytes: number
  /** Counts the bytes of bodies. */
  readonly heldBytes: HeldBytes
  readonly overflow: OverflowHost
  readonly arrivals: Arrivals
  readonly slowReaderMillis: number
  readonly bodyMillis: number
  readonly watch: Watch
  readonly live: Roster<UwsExchange>
  draining: boolean
  readonly clientAddress: ClientAddress
  readonly onDefect: (error: unknown, exchange: Exchange) => void
  /** Called when an exchange ended; only set while draining. */
  onSettled: (() => void) | undefined
}

/** `ticker`: the clock of the watch over slow clients. */
export const makeHost = (options: ServerOptions, ticker: Ticker.Ticker, runLog: (log: Effect.Effect<void>) => unknown): ExchangeHost => {
  const slowReaderMillis = Duration.toMillis(options.slowReaderTimeout ?? defaults.slowReaderTimeout)
  const bodyMillis = Duration.toMillis(options.bodyTimeout ?? defaults.bodyTimeout)
  return {
    maxPendingBytes: options.maxPendingBytes ?? defaults.maxPendingBytes,
    heldBytes: new HeldBytes(options.heldBodyBytes ?? defaults.heldBodyBytes()),
    overflow: { directory: options.overflowDirectory ?? null, reserveBytes: overflowReserveBytes, stored: new HeldBytes(overflowBytes) },
    arrivals: new Arrivals(),
    slowReaderMillis,
    bodyMillis,
    watch: new Watch(Math.max(10, Math.min(1_000, slowReaderMillis / 4, bodyMillis / 4)), ticker),
    live: new Roster(),
    draining: false,
    clientAddress: options.clientAddress ?? ((peer) => peer),
    onDefect: options.onDefect ?? ((error, exchange) => {
      runLog(Effect.logError(`A route failed: ${exchange.method} ${exchange.path}`, error))
    }),
    onSettled: undefined
  }
}
