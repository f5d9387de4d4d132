import type { Target } from "./Target.ts"

export interface PeerOptions {
  readonly name: string
  readonly url: URL
  readonly pid: number | null
  readonly key: string | null
  readonly modelPrefix: string
}

/** `name=url[,pid=n][,key=k][,prefix=p]`: a proxy that is already running in front of the mock. */
export const parsePeer = (text: string): PeerOptions => {
  const [head = "", ...rest] = text.split(",")
  const cut = head.indexOf("=")
  const name = head.slice(0, cut)
  if (cut < 1 || !/^[a-z0-9-]{1,20}$/i.test(name)) throw new Error(`--peer ${text}: name=url expected`)
  const url = URL.parse(head.slice(cut + 1))
  if (url === null || url.protocol !== "http:") throw new Error(`--peer ${name}: an http:// url expected`)
  if (!["127.0.0.1", "localhost", "[::1]"].includes(url.hostname)) throw new Error(`--peer ${name}: loopback only`)
  const options = new Map(rest.map((pair) => {
    const at = pair.indexOf("=")
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  }))
  for (const option of options.keys()) {
    if (!["pid", "key", "prefix"].includes(option)) throw new Error(`--peer ${name}: unknown option ${option}; known: pid, key, prefix`)
  }
  const pid = options.get("pid")
  if (pid !== undefined && !/^\d+$/.test(pid)) throw new Error(`--peer ${name}: pid is a number`)
  return {
    name,
    url,
    pid: pid === undefined ? null : Number(pid),
    key: options.get("key") ?? null,
    modelPrefix: options.get("prefix") ?? ""
  }
}

export const peer = (options: PeerOptions): Target => ({
  name: options.name,
  owned: false,
  translates: false,
  launch: () =>
    Promise.resolve({
      endpoint: {
        host: options.url.hostname.replace(/^\[|\]$/g, ""),
        port: Number(options.url.port === "" ? "80" : options.url.port),
        basePath: options.url.pathname.replace(/\/$/, ""),
        modelPrefix: options.modelPrefix,
        apiKey: options.key,
        pid: options.pid
      },
      listeningMs: null,
      stop: () => Promise.resolve()
    })
})
