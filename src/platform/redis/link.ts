/** How this product connects to Redis: nothing is queued while the server is away, and it is looked for for ever. */
import { Redis } from "ioredis"
import * as Redacted from "effect/Redacted"
import { codeOf } from "#actors/thrown.ts"

/** Longest wait between two attempts to connect, ms. */
const RECONNECT_CAP_MS = 1_000
/** Time for TCP and TLS, ms. */
const CONNECT_MS = 2_000
/** Time that a connection which is being left gets to close by itself, ms. */
const DISCONNECT_MS = 100

/** What an error of the driver means for the operator; its own words stay where they say it. */
const wordsOf = (error: Error): string => {
  const { message } = error
  if (message.startsWith("NOAUTH")) return "the server wants a password, and REDIS_URL has none: NOAUTH"
  if (message.startsWith("WRONGPASS")) return "the server refuses the user or password of REDIS_URL: WRONGPASS"
  // The first command of a connection, behind which the other side hung up.
  if (/isn't writeable|Connection is closed/.test(message)) return "the server closed the connection; is it a Redis?"
  return message === "" ? codeOf(error) || error.name : message
}

/** A connection that is not open yet; errors are passed to `failed` and never hold the URL. */
export const make = (url: Redacted.Redacted<string>, role: "commands" | "subscriptions", failed: (message: string) => void): Redis => {
  const redis = new Redis(Redacted.value(url), {
    lazyConnect: true,
    enableOfflineQueue: false,
    // A command whose connection broke is answered at once, and never sent a second time.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // `Subscriptions` keeps the list, because a subscription may be requested while the server is unavailable.
    autoResubscribe: false,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: DISCONNECT_MS,
    keepAlive: 10_000,
    disableClientInfo: true,
    connectionName: `gateway-${role}`,
    maxLoadingRetryTime: RECONNECT_CAP_MS,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times - 1, 10), RECONNECT_CAP_MS)
  })
  redis.on("error", (error: Error) => failed(wordsOf(error)))
  return redis
}

/** Opens it; it keeps trying by itself, so a refusal is no failure here. */
export const open = (redis: Redis): void => {
  redis.connect().catch(() => undefined)
}

export const close = (redis: Redis): void => {
  redis.disconnect()
}
