/**
 * No upstream call ends at a model or connection that its key may not use, whatever the client asks for: models under each of their
 * names, combos of every strategy, automatic routing, aliases, mappings, variants, counts, issued keys; with fallbacks, hedges, shadows
 * and summaries on the way. The upstream's own log is the witness, and the rules are written down here a second time.
 */
import * as Crypto from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Strategy } from "#schemas/records/Combo.ts"
import { chance } from "#test/support/chance.ts"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually, type Key } from "#test/support/operator.ts"

/** One that a call may reach: a model on a connection. */
interface Place {
  readonly connection: string
  readonly credential: string
  /** As the upstream hears it. */
  readonly model: string
  readonly canonical: string
  /** Every name of the model but the names of variants. */
  readonly names: ReadonlyArray<string>
  /** Those by which a list of allowed models means it: a bare id counts where it leads to the model. */
  readonly listed: ReadonlyArray<string>
}
interface Lists {
  readonly blockedModels: ReadonlyArray<string>
  readonly allowedModels: ReadonlyArray<string> | null
  readonly allowedConnections: ReadonlyArray<string>
  readonly allowedCombos: ReadonlyArray<string>
}
const everything: Lists = { blockedModels: [], allowedModels: null, allowedConnections: [], allowedCombos: [] }

let lab: Lab
let combos: Combos
const places: Array<Place> = []
const comboIds: Array<string> = []
const single = new Map<string, ReadonlyArray<Place>>()

const claude = "claude-sonnet-4-5"
const providers = ["kr0", "kr1", "kr2"]
/** The last one always fails, so that what stands before others in a combo falls back. */
const models = ["kr-m0", "kr-m1", "kr-bad"]
const aliases: Readonly<Record<string, string>> = { "kr-alias": "kr0/kr-m0", "kr-second": "kr1/kr-m1" }

const at = (canonical: string): ReadonlyArray<Place> => places.filter((place) => place.canonical === canonical)

beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "kr")
  const { operator } = lab.gateway
  await lab.sim.rule({ match: { model: "kr-bad" }, script: { status: 500, error: { message: "away" } } })
  await lab.sim.rule({ match: { model: "kr-m1" }, script: { text: "Second.", latencyMs: 25 } })
  const add = (provider: string, connection: string, credential: string, model: string, more: ReadonlyArray<string>) => {
    const canonical = `${provider}/${model}`
    const named = Object.entries(aliases).filter(([, to]) => to === canonical).map(([alias]) => alias)
    places.push({
      connection, credential, model, canonical, names: [canonical, model, ...named, ...more], listed: [canonical, ...named, ...more, ...(model === claude ? [model] : [])]
    })
  }
  for (const provider of providers) {
    const credentials = [0, 1].map((i) => `${provider}-credential-number-${i}`)
    const ids = await lab.pool(provider, credentials)
    for (const [i, id] of ids.entries()) {
      await operator.changeConnection(id, { defaultModel: models[(i + providers.indexOf(provider)) % models.length] })
      for (const model of models) add(provider, id, credentials[i] ?? "", model, [])
    }
  }
  const vendor = await operator.createConnection({ provider: "anthropic", apiKey: "sk-ant-rights-0000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  await operator.changeConnection(vendor, { defaultModel: claude })
  add("anthropic", vendor, "sk-ant-rights-0000000001", claude, [`claude/${claude}`])
  // The lab's own connection takes no part.
  await operator.changeConnection(lab.connection, { isActive: false })
  for (const [alias, model] of Object.entries(aliases)) {
    await operator.call("PUT", "/api/models/alias", { alias, model })
    single.set(alias, at(model))
  }
  await operator.call("PATCH", "/api/settings", { wildcardAliases: [{ pattern: "kr-wild-*", target: "kr2/kr-m0" }] })
  single.set("kr-wild-7", at("kr2/kr-m0"))
  for (const place of places) single.set(place.canonical, at(place.canonical))
  for (const variant of [claude, `claude/${claude}`, `anthropic/${claude}-thinking`, `${claude}-low`, `claude-3-gateway-no-thinking/anthropic/${claude}`, `no-think/${claude}`]) {
    single.set(variant, at(`anthropic/${claude}`))
  }
  const listed = ["kr0/kr-bad", "kr0/kr-m0", "kr1/kr-m1", "kr2/kr-m0", `anthropic/${claude}`]
  const shadowRouting = { enabled: true, targets: ["kr2/kr-m1", `anthropic/${claude}`] }
  for (const [i, strategy] of Strategy.literals.entries()) {
    comboIds.push(await combos.combo(strategy, [...listed.slice(i % listed.length), ...listed.slice(0, i % listed.length)], {
      context_length: 1_000,
      config: {
        maxRetries: 0, retryDelayMs: 0, fallbackDelayMs: 0, judgeModel: "kr1/kr-m0", handoffModel: "kr2/kr-m1", fusionTuning: { stragglerGraceMs: 50 },
        ...(i % 3 === 0 ? { shadowRouting } : {}), ...(i % 4 === 1 ? { hedging: true, hedgeDelayMs: 5 } : {})
      }
    }))
  }
  const inner = (comboIds[0] ?? "").slice("combo/".length)
  for (const nestedComboMode of ["flatten", "execute"]) {
    comboIds.push(await combos.combo("round-robin", [{ kind: "combo-ref", comboName: inner }, "kr1/kr-m0"], { config: { nestedComboMode, maxRetries: 0 } }))
  }
  const { combos: all } = await operator.call<{ combos: ReadonlyArray<{ id: string; name: string }> }>("GET", "/api/combos")
  await operator.call("POST", "/api/model-combo-mappings", { pattern: "kr-mapped-*", comboId: all.find(({ name }) => name === inner)?.id })
  comboIds.push("kr-mapped-1")
  await operator.setFlag("NO_THINKING_ALIAS_ENABLED", "true")
})
afterAll(() => lab.close())

const glob = (pattern: string) => {
  const source = pattern.toLowerCase().replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")
  const made = new RegExp(`^${source}$`)
  return (text: string) => made.test(text.toLowerCase())
}
const isOn = (list: ReadonlyArray<string>, names: ReadonlyArray<string>) => list.some((entry) => names.some(glob(entry)))

/** The rules: `asked` is the id of a single model, `""` for automatic routing, null for a combo. */
const mayReach = ({ allowedConnections, allowedModels, blockedModels }: Lists, place: Place, asked: string | null): boolean =>
  !isOn(blockedModels, asked === null || asked === "" ? place.names : [...place.names, asked]) &&
  (allowedConnections.length === 0 || allowedConnections.includes(place.connection)) &&
  (allowedModels === null || asked === null || isOn(allowedModels, asked === "" ? place.listed : [...place.listed, asked]))

const policyOf = ({ allowedModels, ...rest }: Lists) => ({
  ...rest, connectionAccessMode: rest.allowedConnections.length > 0 ? "restricted" : "all",
  ...(allowedModels === null ? { modelAccessMode: "all", allowedModels: [] } : { modelAccessMode: "restricted", allowedModels })
})

const { below, one, seed } = chance()

const randomLists = (): Lists => {
  const names = ["kr0/*", "kr1/kr-m1", "KR2/KR-M0", "kr-m0", "kr-m?", "kr-alias", "kr-second", claude, "claude/*", `anthropic/${claude}`, "*/kr-bad"]
  const some = <A>(list: ReadonlyArray<A>, most: number): ReadonlyArray<A> => Array.from({ length: below(most + 1) }, () => one(list))
  const ids = [...new Set(places.map(({ connection }) => connection))]
  return {
    blockedModels: some(names, 3),
    allowedModels: below(3) === 0 ? [...some([...names, "*"], 4), ...(below(2) === 0 ? ["auto"] : [])] : null,
    allowedConnections: below(3) === 0 ? [one(ids), one(ids), one(ids)] : [],
    allowedCombos: below(4) === 0 ? [one(comboIds.slice(0, 20)).slice("combo/".length)] : []
  }
}

const shapes: ReadonlyArray<(model: string, words: string) => Http.Call> = [
  (model, words) => ({
    path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content: words }, { role: "assistant", content: "I see." }, { role: "user", content: "What now?" }] }
  }),
  (model, words) => ({ path: "/v1/chat/completions", body: { model, stream: true, messages: [{ role: "user", content: words }] } }),
  (model, words) => ({ path: "/v1/messages", body: { model, max_tokens: 64, messages: [{ role: "user", content: words }] } }),
  (model, words) => ({ path: "/v1/responses", body: { model, input: words } }),
  (model, words) => ({ path: "/v1/messages/count_tokens", body: { model, messages: [{ role: "user", content: words }] } })
]

/** What the upstream heard of a request; nothing of it runs any more. */
const heard = async (marker: string) => {
  await eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 0, "the end of all calls")
  await lab.sim.idle()
  return (await lab.sim.entries({})).filter(({ body }) => JSON.stringify(body).includes(marker))
}

const sha = (credential: string) => Crypto.hash("sha256", credential, "hex")

describe("the rights of a key over HTTP", () => {
  it("no upstream call ends at a model or connection that its key may not use, and what it may use it gets", { timeout: 180_000 }, async () => {
    const asked = [...single.keys(), ...comboIds, ...comboIds, "auto", "auto/fast", "auto/cheap"]
    let reached = 0
    let refused = 0
    const until = Date.now() + 12_000
    for (let round = 0; round < 30 && (Date.now() < until || reached <= 50 || refused <= 20); round++) {
      const issuer = below(2) === 0 ? randomLists() : null
      const own = randomLists()
      let key: Key
      if (issuer === null) key = await lab.gateway.operator.createKey(`r${round}`, policyOf(own))
      else {
        const parent = await lab.gateway.operator.createKey(`p${round}`)
        const child = await Http.send(lab.gateway.url, { path: "/api/v1/registered-keys", body: { name: `c${round}` }, headers: { authorization: `Bearer ${parent.key}` } })
        const { key: raw, keyId: id } = JSON.parse(child.text) as { key: string; keyId: string }
        key = { id, key: raw }
        await lab.gateway.operator.changeKey(id, policyOf(own))
        // After the issue: what the issuer may do now is what counts.
        await lab.gateway.operator.changeKey(parent.id, policyOf(issuer))
      }
      const lists = [own, issuer ?? everything]
      const asks = Array.from({ length: 8 }, (_, i) => ({ model: one(asked), shape: one(shapes), marker: `kr-${seed}-${round}-${i}-.` }))
      const replies = await Promise.all(asks.map(async ({ marker, model, shape }) => {
        const call = shape(model, `${marker} ${"and so on ".repeat(370)}`)
        return await Http.send(lab.gateway.url, { ...call, headers: { authorization: `Bearer ${key.key}`, "x-session-id": `s-${round}` } })
      }))
      for (const [i, { marker, model }] of asks.entries()) {
        const of = single.get(model)
        const way = of !== undefined ? model : model.startsWith("auto") ? "" : null
        const story = JSON.stringify({ seed, model, lists, status: replies[i]?.status, text: replies[i]?.text.slice(0, 300) })
        const entries = await heard(marker)
        reached += entries.length
        for (const entry of entries) {
          const place = places.find((one) => one.model === entry.model && sha(one.credential) === entry.key?.sha256)
          expect(place, `${story} reached ${entry.model}`).toBeDefined()
          if (place !== undefined) expect(lists.every((list) => mayReach(list, place, way)), `${story} reached ${place.canonical} on ${place.connection}`).toBe(true)
        }
        if (of !== undefined) {
          const may = of.some((place) => lists.every((list) => mayReach(list, place, way)))
          expect(replies[i]?.status === 403, story).toBe(!may)
        }
        if (replies[i]?.status === 403) refused++
      }
    }
    // Neither everything nor nothing was refused.
    expect([reached > 50, refused > 20]).toEqual([true, true])
  })

  it("a combo and automatic routing of which nothing is left are 403 in the client's format; explain and candidates say why", async () => {
    const combo = await combos.combo("priority", ["kr0/kr-m0", "kr1/kr-m0"])
    const name = combo.slice("combo/".length)
    const { id, key } = await lab.gateway.operator.createKey("blocked", { blockedModels: ["kr-m0"], allowedCombos: [name], scopes: ["manage"] })
    const headers = { authorization: `Bearer ${key}` }
    const reply = await lab.chat({ model: combo }, headers)
    expect([reply.status, errorIn(reply)["code"], errorIn(reply)["message"]]).toEqual([403, "insufficient_permissions", `This API key may not use any model of the combo '${name}'.`])
    expect(reply.text).not.toContain("kr0/kr-m0")
    const foreign = await Http.send(lab.gateway.url, { path: "/v1/messages", headers, body: { model: combo, max_tokens: 5, messages: [{ role: "user", content: "Hi" }] } })
    expect([foreign.status, errorIn(foreign)["type"]]).toEqual([403, "permission_error"])
    type Explained = { readonly targets: ReadonlyArray<{ readonly model: string; readonly skipped: { readonly reason: string; readonly detail: string } | null }>; readonly error: { readonly status: number } | null }
    const explained = await lab.gateway.operator.call<Explained>("POST", "/api/routing/explain", { model: combo, keyId: id })
    expect(explained.error?.status).toBe(403)
    expect(new Set(explained.targets.map(({ model, skipped }) => `${model} ${skipped?.reason}: ${skipped?.detail}`))).toEqual(new Set([
      "kr0/kr-m0 not-allowed: This API key may not use the model 'kr0/kr-m0'.", "kr1/kr-m0 not-allowed: This API key may not use the model 'kr1/kr-m0'."
    ]))
    const nothing = await lab.gateway.operator.createKey("nothing", { blockedModels: ["kr*", claude], scopes: ["manage"] })
    const auto = await lab.chat({ model: "auto/fast" }, { authorization: `Bearer ${nothing.key}` })
    expect([auto.status, errorIn(auto)["code"]]).toEqual([403, "insufficient_permissions"])
    const view = await Http.send(lab.gateway.url, { path: "/v1/auto-combo/fast/candidates", headers: { authorization: `Bearer ${nothing.key}` } })
    const { candidates } = JSON.parse(view.text) as { candidates: ReadonlyArray<{ excluded: boolean; reason: string | null }> }
    expect([candidates.length > 0, candidates.every(({ excluded, reason }) => excluded && reason === "not-allowed")]).toEqual([true, true])
  })

  it("a change of a key's lists acts on the next call of a combo", async () => {
    const combo = await combos.combo("priority", ["kr0/kr-m0", "kr1/kr-m1"])
    const { id, key } = await lab.gateway.operator.createKey("changed")
    const answeredBy = async () => (await lab.chat({ model: combo }, { authorization: `Bearer ${key}` })).headers["x-gateway-model"]
    expect(await answeredBy()).toBe("kr0/kr-m0")
    await lab.gateway.operator.changeKey(id, { blockedModels: ["kr-alias"] })
    expect(await answeredBy()).toBe("kr1/kr-m1")
    await lab.gateway.operator.changeKey(id, { blockedModels: [], allowedConnections: [at("kr1/kr-m1")[1]?.connection] })
    const entriesBefore = (await lab.sim.entries({ model: "kr-m1" })).length
    expect(await answeredBy()).toBe("kr1/kr-m1")
    const [entry] = (await lab.sim.entries({ model: "kr-m1" })).slice(entriesBefore)
    expect(entry?.key?.sha256).toBe(sha(at("kr1/kr-m1")[1]?.credential ?? ""))
  })
})
