/** Opens TCP or Unix sockets to the hosts of a connection URL, in turn when one refuses. */
import * as net from "node:net"
import type { Transport } from "./Slot.ts"

export interface TcpOptions {
  readonly hosts: ReadonlyArray<string>
  readonly ports: ReadonlyArray<number>
  /** Path of a Unix socket; wins over the hosts. */
  readonly path: string | null
  /** ms. */
  readonly connectTimeout: number
}

/** Seconds of quiet before TCP asks whether the peer is still there. */
const keepAliveSeconds = 20

const connect = (target: net.NetConnectOpts, timeout: number): Promise<net.Socket> =>
  new Promise((resolve, reject) => {
    const socket = net.connect(target)
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error(`No connection within ${timeout} ms.`), { code: "CONNECT_TIMEOUT" }))
    }, timeout)
    const failed = (error: Error) => {
      clearTimeout(timer)
      reject(error)
    }
    socket.once("error", failed)
    socket.once("connect", () => {
      clearTimeout(timer)
      socket.off("error", failed)
      socket.setNoDelay(true)
      socket.setKeepAlive(true, keepAliveSeconds * 1_000)
      resolve(socket)
    })
  })

/** A transport over TCP; every open starts at the host that worked last. */
export const make = (options: TcpOptions): Transport => {
  let current = 0
  return {
    cancels: true,
    open: async () => {
      if (options.path !== null) return connect({ path: options.path }, options.connectTimeout)
      let failure: unknown = null
      for (let attempt = 0; attempt < options.hosts.length; attempt++) {
        const host = options.hosts[current] ?? "127.0.0.1"
        const port = options.ports[current] ?? 5432
        try {
          const socket = await connect({ host, port }, options.connectTimeout)
          // The driver reads the name for TLS from here.
          return Object.assign(socket, { host, port })
        } catch (error) {
          failure = error
          current = (current + 1) % options.hosts.length
        }
      }
      throw failure
    }
  }
}
