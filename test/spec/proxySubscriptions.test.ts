/** Lists of outbound proxies at an operator's URL: /api/v1/management/proxy-subscriptions. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"

const PATH = "/api/v1/management/proxy-subscriptions"
const REGISTRY = "/api/v1/management/proxies"
const TOKEN = "canary-l1st-t0ken"
const CANARY = "canary-pr0xy-passw0rd"

interface View {
  readonly id: string
  readonly error: string | null
  readonly [field: string]: unknown
}
interface ProxyView extends View {
  readonly host: string
  readonly port: number
  readonly leftAt: string | null
}
type Listed = { readonly items: ReadonlyArray<ProxyView> }

let lab: Lab
let lists: Server
let listUrl = ""
let list = ""
let status = 200
const asked: Array<string> = []
beforeAll(async () => {
  lab = await startLab()
  lists = createServer((request, response) => {
    asked.push(request.url ?? "")
    response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end(list)
  })
  await new Promise<void>((resolve) => lists.listen(0, "127.0.0.1", resolve))
  listUrl = `http://127.0.0.1:${(lists.address() as AddressInfo).port}/list?token=${TOKEN}`
})
afterAll(async () => {
  await lab.close()
  lists.close()
})
afterEach(async () => {
  status = 200
  for (const { id } of (await call<Listed>("GET", PATH)).items) await call("DELETE", `${PATH}?id=${id}&force=1`)
  for (const { id } of (await call<Listed>("GET", REGISTRY)).items) await call("DELETE", `${REGISTRY}?id=${id}&force=1`)
  await lab.gateway.operator.clearFlags()
})

const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const refusal = async (method: string, path: string, body?: unknown) => {
  const reply = await lab.gateway.operator.raw(method, path, body)
  return [reply.status, errorIn(reply)] as const
}
/** A list whose first reading is over. */
const subscribe = async (over: Record<string, unknown> = {}): Promise<View> => {
  const made = await call<View>("POST", PATH, { name: "pool", url: listUrl, ...over })
  return eventually(async () => (await call<Listed>("GET", PATH)).items.find(({ id }) => id === made.id) as View, (one) => one["triedAt"] !== null, "the first reading")
}
const refresh = (id: string) => call<{ subscription: View; added: number; removed: number }>("POST", `${PATH}/refresh`, { id })
const registry = async () => (await call<Listed>("GET", REGISTRY)).items
const ports = async () => (await registry()).map(({ port }) => port).sort((a, b) => a - b)
const fresh = () => `m-${Math.random().toString(36).slice(2)}`

describe("a list of outbound proxies", () => {
  it("is read soon after it was added, and its proxies are records of the registry; no secret is shown", async () => {
    list = `# free\n127.0.0.1:9001\nhttps://u:${CANARY}@127.0.0.1:9002\nnot a proxy\n`
    const read = await subscribe()
    expect(read).toMatchObject({ name: "pool", type: "http", enabled: true, intervalSeconds: 3_600, entryCount: 2, skippedCount: 1, error: null })
    expect(read["url"]).toBe(`${new URL(listUrl).origin}/[redacted]`)
    expect(read["refreshedAt"]).toBe(read["triedAt"])
    const proxies = await registry()
    expect(proxies).toMatchObject([
      { name: "pool 127.0.0.1:9001", type: "http", port: 9001, username: null, source: "subscription", subscriptionId: read.id, leftAt: null, status: "active" },
      { name: "pool 127.0.0.1:9002", type: "https", port: 9002, username: "[redacted]", password: "[redacted]", source: "subscription", subscriptionId: read.id }
    ])
    const audit = (await lab.gateway.operator.raw("GET", "/api/compliance/audit-log")).text
    expect(audit).toContain("proxy.subscription_created")
    for (const text of [JSON.stringify(read), JSON.stringify(proxies), audit]) {
      expect(text).not.toContain(TOKEN)
      expect(text).not.toContain(CANARY)
    }
    expect(asked.at(-1)).toBe(`/list?token=${TOKEN}`)
  })

  it("is followed: what leaves it leaves the registry, what is new comes, and a manual proxy stays", async () => {
    list = "127.0.0.1:9001\n127.0.0.1:9002"
    const manual = await call<View>("POST", REGISTRY, { name: "mine", host: "127.0.0.1", port: 9003 })
    const { id } = await subscribe()
    list = JSON.stringify({ proxies: [{ host: "127.0.0.1", port: 9002 }, { host: "127.0.0.1", port: 9003 }, { host: "127.0.0.1", port: 9004 }] })
    const before = await registry()
    expect(await refresh(id)).toMatchObject({ added: 1, removed: 1, subscription: { entryCount: 3, skippedCount: 0 } })
    expect(await ports()).toEqual([9002, 9003, 9004])
    const idAt = (all: ReadonlyArray<ProxyView>, port: number) => all.find((one) => one.port === port)?.id
    expect([idAt(await registry(), 9002), idAt(await registry(), 9003)]).toEqual([idAt(before, 9002), manual.id])
    expect(await refresh(id)).toMatchObject({ added: 0, removed: 0 })
    await call("DELETE", `${PATH}?id=${id}`)
    expect(await ports()).toEqual([9003])
  })

  it("is read again soon after a change", async () => {
    list = "127.0.0.1:9001"
    const { id } = await subscribe()
    list = "127.0.0.1:9002"
    await call("PATCH", PATH, { id, url: `${listUrl}&more=1` })
    expect(await eventually(ports, ([port]) => port === 9002, "the new list")).toEqual([9002])
    expect(asked.at(-1)).toBe(`/list?token=${TOKEN}&more=1`)
  })

  it("that cannot be read, or names no proxy, changes nothing and says why", async () => {
    list = "127.0.0.1:9001"
    const { id } = await subscribe()
    const host = new URL(listUrl).host
    for (const [code, text, error] of [
      [503, list, `${host} answered with status 503`], [302, list, `${host} answered with status 302; redirects are not followed`], [200, "<html>sign in</html>", "the list names no proxy"],
      [200, "", "the list names no proxy"], [200, `127.0.0.1:9002\n${"#".repeat(1_100_000)}`, `the list of ${host} is larger than 1048576 bytes`]
    ] as const) {
      status = code
      list = text
      const { subscription } = await refresh(id)
      expect([subscription.error, subscription["entryCount"], await ports()]).toEqual([error, 1, [9001]])
    }
    status = 200
    list = "127.0.0.1:9002"
    expect(await refresh(id)).toMatchObject({ added: 1, removed: 1, subscription: { error: null } })
  })

  it("that drops a proxy in use keeps it, and its calls fail: they go no other way", async () => {
    await using proxy = await Proxies.http({ to: { host: "127.0.0.1", port: Number(new URL(lab.sim.url).port) } })
    list = `127.0.0.1:${proxy.port}`
    const { id } = await subscribe()
    const [record] = await registry()
    await call("PUT", `${REGISTRY}/assignments`, { scope: "global", proxyId: record?.id })
    expect((await lab.chat({ model: fresh() })).status).toBe(200)
    // The list itself would be read by the proxy of everything.
    await call("PUT", `${REGISTRY}/assignments`, { scope: "global" })
    await call("PUT", `${REGISTRY}/assignments`, { scope: "provider", scopeId: "lab", proxyId: record?.id })
    list = "127.0.0.1:9001"
    expect(await refresh(id)).toMatchObject({ added: 1, removed: 0 })
    const refused = await lab.chat({ model: fresh() })
    expect([refused.status, errorIn(refused)["code"]]).toEqual([502, "PROXY_001"])
    expect((await registry()).find((one) => one.id === record?.id)?.leftAt).not.toBeNull()
    list = `127.0.0.1:9001\n127.0.0.1:${proxy.port}`
    await refresh(id)
    expect((await lab.chat({ model: fresh() })).status).toBe(200)
    const [code, error] = await refusal("DELETE", `${PATH}?id=${id}`)
    expect([code, error["code"]]).toEqual([409, "PROXY_IN_USE"])
    await call("DELETE", `${PATH}?id=${id}&force=1`)
    expect([await registry(), (await call<Listed>("GET", `${REGISTRY}/assignments`)).items]).toEqual([[], []])
  })

  it("has its proxies chosen for calls that nothing is assigned to", async () => {
    await using proxy = await Proxies.http({ to: { host: "127.0.0.1", port: Number(new URL(lab.sim.url).port) } })
    list = `127.0.0.1:${proxy.port}`
    await subscribe()
    await lab.gateway.operator.setFlag("PROXY_AUTO_SELECT_ENABLED", "true")
    expect((await lab.chat({ model: fresh() })).status).toBe(200)
    expect(proxy.tunnels.length).toBeGreaterThan(0)
  })

  it("owns where its proxies are; their name, notes and status are the operator's", async () => {
    list = "127.0.0.1:9001"
    const { id } = await subscribe()
    const [record] = await registry()
    for (const [method, path, body] of [["PATCH", REGISTRY, { id: record?.id, port: 9005 }], ["PATCH", REGISTRY, { id: record?.id, password: "x" }], ["DELETE", `${REGISTRY}?id=${record?.id}&force=1`, undefined]] as const) {
      const [code, error] = await refusal(method, path, body)
      expect([code, error["code"]]).toEqual([409, "PROXY_OF_SUBSCRIPTION"])
    }
    await call("PATCH", REGISTRY, { id: record?.id, name: "slow", status: "inactive" })
    await refresh(id)
    expect(await registry()).toMatchObject([{ id: record?.id, name: "slow", status: "inactive" }])
  })

  it("adds no proxy that an operator could not add", async () => {
    list = "socks5://127.0.0.1:9001\nhttp://169.254.169.254:80\n127.0.0.1:9002"
    expect(await subscribe()).toMatchObject({ entryCount: 3, skippedCount: 2, error: null })
    expect(await ports()).toEqual([9002])
  })

  it("is changed, switched off and refused by the name of the field", async () => {
    list = "127.0.0.1:9001"
    const made = await subscribe()
    const changed = await call<View>("PATCH", PATH, { id: made.id, name: "spare", url: made["url"], enabled: false, intervalSeconds: 300, type: "https" })
    expect(changed).toMatchObject({ name: "spare", url: made["url"], enabled: false, intervalSeconds: 300, type: "https", entryCount: 1 })
    // The shown URL kept the stored one, and a reading by hand works while it is off.
    expect((await refresh(made.id)).subscription.error).toBeNull()
    expect((await registry()).map(({ type }) => type)).toEqual(["https"])
    for (const url of ["ftp://l.test", "http://u:p@l.test/", "http://169.254.169.254/"]) {
      const [code, error] = await refusal("POST", PATH, { name: "x", url })
      expect([code, (error["details"] as ReadonlyArray<{ field: string }>)[0]?.field], url).toEqual([400, "url"])
    }
    for (const over of [{ intervalSeconds: 299 }, { intervalSeconds: 604_801 }, { name: "" }, { type: "ftp" }, { color: "red" }]) {
      expect((await refusal("POST", PATH, { name: "x", url: listUrl, ...over }))[0], JSON.stringify(over)).toBe(400)
    }
    for (const [method, path, body] of [["PATCH", PATH, { id: "none" }], ["DELETE", `${PATH}?id=none`, undefined], ["POST", `${PATH}/refresh`, { id: "none" }]] as const) {
      expect((await refusal(method, path, body))[0]).toBe(404)
    }
  })
})
