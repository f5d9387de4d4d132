/**
 * The socket of live events. It subscribes to what is on screen, comes back by itself, and tells its state, so that screens can poll
 * while it is down.
 */
import { useEffect, useRef, useState } from "react"
import { urlOf } from "../app/place.ts"

export interface LiveEvent {
  readonly channel: string
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

export type LiveState = "connecting" | "live" | "off"

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
/** The gateway says that this caller may not listen; asking again would change nothing. */
const REFUSED: ReadonlySet<number> = new Set([4001, 4003])

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value)

const read = (data: unknown): LiveEvent | null => {
  if (typeof data !== "string") return null
  const frame: unknown = JSON.parse(data)
  if (!isRecord(frame) || frame["type"] !== "event" || !isRecord(frame["data"])) return null
  return { channel: String(frame["channel"]), event: String(frame["event"]), data: frame["data"] }
}

/** `wanted`: false closes the socket. Events go to the newest `onEvent`. */
export const useLive = (channels: ReadonlyArray<string>, wanted: boolean, onEvent: (event: LiveEvent) => void): LiveState => {
  const [state, setState] = useState<LiveState>("connecting")
  const listener = useRef(onEvent)
  useEffect(() => {
    listener.current = onEvent
  })
  const named = channels.join()
  useEffect(() => {
    if (!wanted) return
    let ended = false
    let failures = 0
    let socket: WebSocket | null = null
    let timer: ReturnType<typeof setTimeout> | undefined
    const open = (): void => {
      const address = urlOf("/api/live")
      address.protocol = address.protocol === "https:" ? "wss:" : "ws:"
      socket = new WebSocket(address)
      socket.addEventListener("open", () => {
        failures = 0
        setState("live")
        socket?.send(JSON.stringify({ type: "subscribe", channels: named.split(",") }))
      })
      socket.addEventListener("message", ({ data }) => {
        const event = read(data)
        if (event !== null) listener.current(event)
      })
      socket.addEventListener("close", ({ code }) => {
        if (ended) return
        setState("off")
        if (REFUSED.has(code)) return
        failures++
        const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 5))
        timer = setTimeout(open, wait * (0.5 + Math.random() / 2))
      })
    }
    open()
    return () => {
      ended = true
      clearTimeout(timer)
      socket?.close()
    }
  }, [named, wanted])
  return wanted ? state : "off"
}
