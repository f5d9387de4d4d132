/**
 * The translation matrix: every recorded request to every family, every recorded answer and stream to every face, as snapshots
 * that a reviewer can read. Beside the snapshots hold rules that no snapshot can break: what is sent upstream is what the
 * strict simulator of that family takes, a stream ends exactly once, and no cut of the bytes changes a thing.
 *
 * `npx vitest run test/golden -u` writes the snapshots anew; read the diff.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { FORMATS } from "#src/simulator/formats/index.ts"
import * as Formats from "#src/wire/formats.ts"
import { clients } from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import type { ClientCodec, TargetTraits, UpstreamCodec } from "#src/wire/WireFormat.ts"
import { byBytes, randomCut } from "#test/support/wire/splits.ts"
import { countTerminals } from "#test/support/wire/terminals.ts"

const root = Path.dirname(fileURLToPath(import.meta.url))
const families: ReadonlyArray<FamilyName> = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"]

interface Fixture {
  readonly format: FormatName
  readonly name: string
  readonly bytes: Buffer
}

const fixtures = (format: FormatName, kind: string): ReadonlyArray<Fixture> => {
  const folder = Path.join(root, format, kind)
  return Fs.existsSync(folder)
    ? Fs.readdirSync(folder).sort().map((file) => ({ format, name: file.replace(/\.\w+$/, ""), bytes: Fs.readFileSync(Path.join(folder, file)) }))
    : []
}

const json = ({ bytes }: Fixture): Record<string, unknown> => Json.parseRecord(bytes.toString("utf8")) ?? {}

/** The same ids and times in every run. */
const options = (request: Record<string, unknown> = {}) => {
  let id = 0
  return { model: "lab/model", includeUsage: true, request, now: () => 1_790_000_000, makeId: () => `id${String(++id).padStart(22, "0")}` }
}

/** A model name of each family that can do what the fixtures ask for. */
const models: Readonly<Record<FamilyName, string>> = {
  "chat-completions": "gpt-4.1", "messages": "claude-sonnet-4-5", "responses": "gpt-5", "generateContent": "gemini-2.5-pro", "local-model-server": "qwen3"
}

const traits = (family: FamilyName, stream: boolean): TargetTraits => ({
  model: models[family], stream, maxOutputTokens: 64_000, reasoning: true, streamOptions: true, previousResponseId: "auto"
})

const paths: Readonly<Record<FamilyName, string>> = {
  "chat-completions": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses",
  "generateContent": "/v1beta/models/gemini-2.5-pro:generateContent", "local-model-server": "/api/chat"
}

/** What the strict simulator of a family says about a body; null when it takes it. */
const refusalOf = (family: FamilyName, body: string): string | null => {
  const format = FORMATS.find((one) => one.matches(paths[family]))
  if (format === undefined) return `no simulator for ${family}`
  const read = format.read(Json.parseRecord(body) ?? {}, {
    path: paths[family], query: "", headers: { "anthropic-version": "2023-06-01", "x-api-key": "k", "x-goog-api-key": "k", authorization: "Bearer k" }
  })
  return Result.isFailure(read) ? read.failure.message : null
}

const snapshot = (kind: string, { format, name }: Fixture): string => Path.join(root, "grid", kind, format, `${name}.snap`)

const shown = (value: unknown): string => JSON.stringify(value, null, 1)

describe("requests to every family", () => {
  for (const client of clients) {
    for (const fixture of fixtures(client.name, "requests")) {
      it(`${client.name} ${fixture.name}`, async () => {
        const body = json(fixture)
        const lines: Array<string> = []
        const conversation = client.decodeRequest(body)
        for (const name of families) {
          if (name === client.name) continue
          const encoded = conversation instanceof PublicError ? conversation : Formats.family(name).encodeRequest(conversation, traits(name, body["stream"] === true))
          if (encoded instanceof PublicError) {
            expect(encoded.status, name).toBe(400)
            lines.push(`== ${name}: refused, ${String(encoded.extra?.["param"])}: ${encoded.message}`)
            continue
          }
          expect(refusalOf(name, encoded.body), `the simulator of ${name} refuses ${encoded.body}`).toBe(null)
          lines.push(`== ${name}${encoded.omitted.length === 0 ? "" : `, omitted: ${encoded.omitted.join(", ")}`}`, shown(JSON.parse(encoded.body)))
        }
        await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(snapshot("requests", fixture))
      })
    }
  }
})

describe("malformed requests are refused by the field that is wrong", () => {
  for (const client of clients) {
    for (const fixture of fixtures(client.name, "bad")) {
      it(`${client.name} ${fixture.name}`, () => {
        const { param, request } = json(fixture)
        const head = client.head({ model: "m", stream: false, ...(request as Record<string, unknown>) })
        const conversation = client.decodeRequest(request as Record<string, unknown>)
        const refused = head instanceof PublicError ? head : conversation instanceof PublicError
          ? conversation
          : families.map((name) => Formats.family(name).encodeRequest(conversation, traits(name, false))).find((one) => one instanceof PublicError)
        expect(refused).toBeInstanceOf(PublicError)
        expect([(refused as PublicError).status, (refused as PublicError).extra?.["param"]]).toEqual([400, param])
      })
    }
  }
})

describe("answers to every face", () => {
  for (const name of families) {
    for (const fixture of fixtures(name, "answers")) {
      it(`${name} ${fixture.name}`, async () => {
        const lines: Array<string> = []
        for (const client of clients) {
          const answer = Formats.family(name).decodeAnswer(json(fixture))
          if (answer === null || !("choices" in answer)) {
            lines.push(`== ${client.name}: ${shown(answer)}`)
            continue
          }
          const text = client.encodeAnswer(answer, options())
          lines.push(`== ${client.name}`, shown(JSON.parse(text)))
        }
        await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(snapshot("answers", fixture))
      })
    }
  }
})

/** What a client is sent for an upstream stream given in pieces, ended as the request actor would. */
const played = (client: ClientCodec, family: UpstreamCodec, pieces: ReadonlyArray<Buffer>): { readonly text: string; readonly state: unknown } => {
  const tap = Formats.dialectOf(client, family, options()).makeTap({ forwardUsage: true })
  let text = ""
  const add = (bytes: Uint8Array | null) => {
    if (bytes !== null) text += Buffer.from(bytes).toString("utf8")
  }
  for (const piece of pieces) {
    if (tap.malformed || tap.error !== null) break
    add(tap.push(piece))
  }
  if (!tap.malformed && tap.error === null) add(tap.end())
  const broken = tap.malformed || tap.error !== null || (!tap.terminal && !tap.finished)
  if (broken) add(tap.fail(new PublicError("upstream_reset", 502, "server_error", "The upstream broke off.")))
  return {
    text,
    state: { usage: tap.usage, error: tap.error, malformed: tap.malformed, useful: tap.useful, finished: tap.finished, output: tap.outputText() }
  }
}

describe("streams to every face", () => {
  for (const name of families) {
    for (const fixture of fixtures(name, "streams")) {
      const family = Formats.family(name)
      it(`${name} ${fixture.name}`, async () => {
        const lines: Array<string> = []
        for (const client of clients) {
          const whole = played(client, family, [fixture.bytes])
          expect(countTerminals(client.name, whole.text), `terminal events of ${client.name}:\n${whole.text}`).toBe(1)
          lines.push(`== ${client.name}${client.name === name ? " (its own format)" : ""} ${JSON.stringify(whole.state)}`, whole.text)
        }
        await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(snapshot("streams", fixture))
      })

      it(`${name} ${fixture.name}: the same for every cut`, () => {
        for (const client of clients) {
          const whole = played(client, family, [fixture.bytes])
          expect(played(client, family, byBytes(fixture.bytes))).toEqual(whole)
          for (let seed = 1; seed <= 10; seed++) expect(played(client, family, randomCut(fixture.bytes, seed))).toEqual(whole)
        }
      })
    }
  }
})
