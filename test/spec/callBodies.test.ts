/** Bodies of calls: kept only where the operator asks for it, bounded, without credentials, sealed, and read by operators alone. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { CallBodiesView } from "#src/features/bodies/api.ts"
import { CallBodies } from "#src/features/bodies/CallBodies.ts"
import { combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let key = ""
beforeAll(async () => {
  lab = await startLab()
  key = (await lab.gateway.operator.createKey("bodies")).key
})
afterAll(() => lab.close())

const usual = { callLogBodies: true, callLogBodyShare: 1, callLogBodyMaxKb: 64, callLogBodyTotalMb: 256, callLogBodyHours: 24 }
const set = (settings: Readonly<Record<string, unknown>>) => lab.gateway.operator.call("PATCH", "/api/settings", settings)
beforeEach(() => set(usual))

interface Row {
  readonly id: string
  readonly sealed: string
}
const inDatabase = <A>(make: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>): Promise<A> =>
  Effect.runPromise(make(Context.get(lab.gateway.services(), SqlClient.SqlClient)))
const table = () => inDatabase((sql) => sql<Row>`SELECT id, sealed FROM call_bodies`)
const plainOf = ({ id, sealed }: Row): string => Redacted.value(Context.get(lab.gateway.services(), Secrets).openUnsafe(sealed, `callBodies:${id}`))

const idOf = (reply: { readonly headers: Readonly<Record<string, string>> }): string => reply.headers["x-gateway-request-id"] ?? ""
const ask = (id: string) => lab.gateway.operator.raw("GET", `/api/usage/call-logs/${id}/bodies`)
const kept = async (reply: { readonly headers: Readonly<Record<string, string>> }): Promise<CallBodiesView> =>
  JSON.parse((await eventually(() => ask(idOf(reply)), ({ status }) => status === 200, "the bodies of the call")).text) as CallBodiesView
/** Its row is there, and a later request's bodies are written: the earlier one's never will be. */
const unkept = async (reply: Http.Reply): Promise<Http.Reply> => {
  await lab.gateway.operator.attempts(idOf(reply))
  await set(usual)
  await kept(await lab.chat({ model: "later" }))
  return ask(idOf(reply))
}
/** A name that no earlier try of the same test took. */
let made = 0
const fresh = (name: string): string => `${name}-${++made}`
const saying = (text: string) => [{ role: "user", content: text }]

describe("bodies of calls", () => {
  it("are not kept by default, and the refusal names the setting", async () => {
    await Promise.all(Object.keys(usual).map((name) => inDatabase((sql) => sql`DELETE FROM documents WHERE kind = 'setting' AND key = ${name}`)))
    await lab.gateway.restart()
    const before = (await table()).length
    const settings = await lab.gateway.operator.call<Record<string, unknown>>("GET", "/api/settings")
    expect(settings).toMatchObject({ ...usual, callLogBodies: false })
    const reply = await lab.chat({ model: "by-default" })
    await lab.gateway.operator.attempts(idOf(reply))
    const refused = await ask(idOf(reply))
    expect([refused.status, errorIn(refused)]).toMatchObject([404, { code: "bodies_off", message: expect.stringContaining("callLogBodies") as unknown }])
    await unkept(reply)
    expect((await table()).length).toBe(before + 1)
  })

  it("are the four payloads of a whole answer, by request and by attempt", async () => {
    const reply = await lab.chat({ model: "whole", messages: saying("häß of the client 😀") })
    const view = await kept(reply)
    const [attempt] = await lab.gateway.operator.attempts(idOf(reply))
    expect(view.attempts.map(({ id }) => id)).toEqual([attempt!.id])
    expect(JSON.parse(view.clientRequest.text ?? "")).toMatchObject({ model: "lab/whole", messages: saying("häß of the client 😀") })
    expect(JSON.parse(view.attempts[0]!.upstreamRequest.text ?? "")).toMatchObject({ model: "whole", messages: saying("häß of the client 😀") })
    expect(view.clientAnswer).toEqual({ text: reply.text, bytes: Buffer.byteLength(reply.text), cut: false })
    expect(view.attempts[0]!.upstreamAnswer.text).toContain("chat.completion")
    expect(JSON.parse((await ask(attempt!.id)).text)).toEqual(view)
  })

  it("are those of a stream, of another format than the upstream's", async () => {
    await lab.sim.rule({ match: { model: "streamed" }, script: { text: "one two three" } })
    const opened = await lab.stream({ model: "streamed" })
    const { text } = await opened.ended
    const view = await kept(opened)
    expect([view.clientAnswer.text, view.clientAnswer.bytes]).toEqual([text, Buffer.byteLength(text)])
    expect(contentOf(view.attempts[0]!.upstreamAnswer.text ?? "")).toBe("one two three")
    const translated = await Http.send(lab.gateway.url, { path: "/v1/messages", body: { model: "lab/translated", max_tokens: 9, messages: saying("hello") } })
    const other = await kept(translated)
    expect([JSON.parse(other.clientAnswer.text ?? ""), JSON.parse(other.attempts[0]!.upstreamAnswer.text ?? "")]).toMatchObject([{ type: "message" }, { object: "chat.completion" }])
  })

  it("name each attempt of a request that fell back", async () => {
    const [first, name] = [fresh("first"), fresh("bodies-combo")]
    await lab.pool(first, ["first-credential-000001"])
    await lab.sim.rule({ match: { model: "broken-first" }, script: { status: 500, error: { message: "the first one fails" } } })
    await lab.gateway.operator.call("POST", "/api/combos", { name, strategy: "priority", models: [`${first}/broken-first`, "lab/second"] })
    const reply = await lab.chat({ model: `combo/${name}` })
    expect(reply.status).toBe(200)
    const view = await kept(reply)
    expect(view.attempts.map(({ upstreamAnswer }) => upstreamAnswer.text?.includes("the first one fails"))).toEqual([true, false])
    const attempts = await lab.gateway.operator.attempts(idOf(reply), 2)
    for (const { id } of attempts) expect((await ask(id)).status, id).toBe(200)
  })

  it("are cut at the setting's size, and say so", async () => {
    await set({ callLogBodyMaxKb: 1 })
    const reply = await lab.chat({ model: "cut", messages: saying("é".repeat(2_000)) })
    const { attempts, clientRequest } = await kept(reply)
    for (const payload of [clientRequest, attempts[0]!.upstreamRequest]) {
      expect([payload.cut, payload.bytes > 4_000]).toEqual([true, true])
      expect(Buffer.byteLength(payload.text ?? "")).toBeLessThanOrEqual(1_024)
      expect(Buffer.byteLength(payload.text ?? "")).toBeGreaterThan(1_020)
    }
  })

  it("are those of the share alone", async () => {
    await set({ callLogBodyShare: 0 })
    const refused = await unkept(await lab.chat({ model: "unsampled" }))
    expect([refused.status, errorIn(refused)["code"]]).toEqual([404, "bodies_not_kept"])
  })

  it("are never those of a key with noLog", async () => {
    const quiet = await lab.gateway.operator.createKey("bodies-quiet", { noLog: true })
    const refused = await unkept(await lab.chat({ model: "quiet" }, { authorization: `Bearer ${quiet.key}` }))
    expect([refused.status, errorIn(refused)["code"]]).toEqual([404, "bodies_no_log"])
  })

  it("hold no credential of a connection and no gateway key, and are sealed", async () => {
    await lab.sim.rule({ match: { model: "leak" }, script: { status: 400, error: { message: `your key ${CREDENTIAL} is odd` } } })
    await lab.sim.rule({ match: { model: "leak-whole" }, script: { text: `the key is ${CREDENTIAL}` } })
    const messages = saying(`a recognizable sentence, and my key ${key}`)
    const replies = [await lab.chat({ model: "leak", messages }, { authorization: `Bearer ${key}` }), await lab.chat({ model: "leak-whole", messages }, { authorization: `Bearer ${key}` })]
    for (const reply of replies) {
      const view = JSON.stringify(await kept(reply))
      expect(view).toContain("a recognizable sentence")
      expect([view.includes(CREDENTIAL), view.includes(key)]).toEqual([false, false])
    }
    const rows = await table()
    const sealed = rows.map((row) => row.sealed).join()
    expect(["a recognizable sentence", CREDENTIAL, key].map((text) => sealed.includes(text) || sealed.includes(Buffer.from(text).toString("base64url")))).toEqual([false, false, false])
    const plain = rows.map(plainOf).join()
    expect(["a recognizable sentence", CREDENTIAL, key].map((text) => plain.includes(text))).toEqual([true, false, false])
  })

  it("do not hold a credential that the cut divides", async () => {
    await set({ callLogBodyMaxKb: 1 })
    const head = `{"model":"lab/divided","messages":[{"role":"user","content":"`
    const filler = "word ".repeat(300).slice(0, 1_024 - head.length - CREDENTIAL.length + 6)
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "lab/divided", messages: saying(`${filler.trimEnd()} ${CREDENTIAL} more`) } })
    const { clientRequest } = await kept(reply)
    expect(clientRequest.cut).toBe(true)
    expect(clientRequest.text).not.toContain(CREDENTIAL.slice(0, 16))
  })

  it("store equal texts once", async () => {
    const pool = fresh("twice")
    await lab.pool(pool, ["twice-credential-000001", "twice-credential-000002"])
    await lab.sim.rule({ match: { model: "once" }, script: { status: 500, error: { message: "it fails twice" } } })
    const view = await kept(await lab.chat({ model: `${pool}/once` }))
    expect(view.attempts.map(({ upstreamAnswer }) => upstreamAnswer.text?.includes("it fails twice"))).toEqual([true, true])
    const row = (await table()).find(({ id }) => id === view.attempts[0]!.id)
    const { texts } = JSON.parse(plainOf(row!)) as { texts: ReadonlyArray<string> }
    expect([texts.length, new Set(texts).size]).toEqual([4, 4])
  })

  it("are those of every call of a request that asks several models", async () => {
    // Short: a part of a credential that stands in a model's name would be masked there.
    const combos = combosOf(lab, "kb")
    const [a, b, judge] = [await combos.place({ text: "Answer of the first." }), await combos.place({ text: "Answer of the second." }), await combos.place({ text: "The verdict." })]
    const reply = await lab.chat({ model: await combos.combo("fusion", [a.model, b.model], { config: { judgeModel: judge.model } }) })
    const { attempts, clientAnswer } = await kept(reply)
    const answers = attempts.map(({ upstreamAnswer }) => upstreamAnswer.text ?? "")
    for (const text of ["Answer of the first.", "Answer of the second.", "The verdict."]) expect(answers.filter((answer) => answer.includes(text))).toHaveLength(1)
    expect(clientAnswer.text).toBe(reply.text)
  })

  it("are read by operators alone, and each reading has an audit entry", async () => {
    const reply = await lab.chat({ model: "audited" })
    await kept(reply)
    const path = `/api/usage/call-logs/${idOf(reply)}/bodies`
    for (const headers of [{}, { authorization: `Bearer ${key}` }]) {
      expect([401, 403]).toContain((await Http.send(lab.gateway.url, { method: "GET", path, headers })).status)
    }
    const entries = await lab.gateway.operator.call<ReadonlyArray<{ target: string }>>("GET", `/api/compliance/audit-log?action=call.bodies.read&target=${idOf(reply)}`)
    expect(entries).toHaveLength(1)
    expect((await ask("nothing")).status).toBe(404)
  })

  it("go when there are too many of them", async () => {
    const reply = await lab.chat({ model: "too-many" })
    await kept(reply)
    await inDatabase((sql) => sql`UPDATE call_bodies SET bytes = bytes + 2097152`)
    await set({ callLogBodyTotalMb: 1 })
    await Effect.runPromise(Context.get(lab.gateway.services(), CallBodies).sweep)
    expect(errorIn(await ask(idOf(reply)))["code"]).toBe("bodies_not_kept")
  })

  it("that cannot be stored are lost, and requests go on", async () => {
    await inDatabase((sql) => sql`ALTER TABLE call_bodies RENAME TO call_bodies_away`)
    try {
      for (let at = 0; at < 3; at++) expect((await lab.chat({ model: `store-away-${at}` })).status).toBe(200)
      await eventually(async () => lab.gateway.output(), (text) => text.includes("could not be kept"), "the warning")
    } finally {
      await inDatabase((sql) => sql`ALTER TABLE call_bodies_away RENAME TO call_bodies`)
    }
    await kept(await lab.chat({ model: "store-back" }))
  })
})
