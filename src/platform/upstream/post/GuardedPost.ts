/**
 * One POST to a receiver that a client or an operator named: checked and pinned by the guard, 10 s in all, no redirects. The status
 * line is the answer; what follows it is not read, so that a huge body costs nothing. Errors name host and port, never the URL, which
 * may be a credential.
 */
import type * as net from "node:net"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import { codeOf } from "#actors/thrown.ts"
import type { Answered } from "#actors/webhook/ports/WebhookSender.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { http } from "#src/platform/structures/nodeHttp.ts"
import * as Dialer from "#src/platform/upstream/Dialer.ts"
import { DialError } from "#src/platform/upstream/failures.ts"
import * as Resolver from "#src/platform/upstream/Resolver.ts"

/** For one attempt, from the look-up of the name to the status line, ms. */
export const ATTEMPT_MS = 10_000
/** Largest response head, bytes. */
const MAX_HEAD_BYTES = 32 * 1024

/** What goes on the wire. */
export interface Form {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const silence = (error: string, blocked = false): Answered => ({ status: 0, error, blocked })

const ofStatus = (status: number): Answered => ({
  status,
  error: StatusReason.isOk(status) ? null : StatusReason.of(status) === "redirect" ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`,
  blocked: false
})

export interface Options {
  readonly resolve?: Resolver.Resolve
  readonly ca?: ReadonlyArray<string>
}

/** The call never fails, and it ends within its deadline. */
export const make = Effect.fnUntraced(function*(options: Options = {}) {
  const guard = yield* UrlGuard
  const dialer = Dialer.make({ resolve: options.resolve ?? Resolver.system, checkAddress: guard.checkAddress, ca: options.ca })

  const call = (form: Form) => Effect.callback<Answered>((resume) => {
    const url = new URL(form.url)
    const secure = url.protocol === "https:"
    const target = { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? secure ? 443 : 80 : Number(url.port), secure }
    const peer = Dialer.peerOf(target)
    const end = { over: false, socket: null as net.Socket | null }
    const settle = (answered: Answered): void => {
      if (end.over) return
      end.over = true
      end.socket?.destroy()
      resume(Effect.succeed(answered))
    }
    const dial = dialer.connect(target, "webhook", { session: undefined }, null, (error, socket) => {
      if (error !== null || socket === null) {
        return settle(error instanceof DialError ? silence(error.message, error.reason === "blocked-url") : silence(`cannot connect to ${peer}`))
      }
      end.socket = socket
      const body = Buffer.from(form.body)
      const request = http.request({
        method: "POST",
        path: `${url.pathname}${url.search}`,
        headers: { ...form.headers, host: url.host, "content-length": body.length, connection: "close" },
        createConnection: () => socket,
        maxHeaderSize: MAX_HEAD_BYTES
      })
      request.on("response", (response) => settle(ofStatus(response.statusCode ?? 0)))
      request.on("upgrade", (response) => settle(ofStatus(response.statusCode ?? 0)))
      request.on("error", (problem) => settle(silence(`${peer} broke off before it had answered (${codeOf(problem) || "closed"})`)))
      request.end(body)
    })
    return Effect.sync(() => {
      end.over = true
      dial.cancel()
      end.socket?.destroy()
    })
  })

  return (form: Form): Effect.Effect<Answered> => Effect.matchEffect(guard.check(form.url, "webhook"), {
    onFailure: ({ message, reason }) => Effect.succeed(silence(message, reason !== "unresolvable")),
    onSuccess: () => call(form)
  }).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(ATTEMPT_MS),
      orElse: () => Effect.succeed(silence(`no answer within ${ATTEMPT_MS} ms`))
    }),
    Effect.catchDefect(() => Effect.succeed(silence("the call could not be made")))
  )
})
