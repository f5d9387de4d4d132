/** CPU of the codecs alone: every pair's stream against the pass-through of the same family, every pair's request against JSON.parse. */
import type { StreamTap } from "#actors/request/ports/Face.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { median } from "#bench/http/report/statistics.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { writeRequest } from "#src/wire/writeRequest.ts"
import type { ClientCodec, TargetTraits, UpstreamCodec } from "#src/wire/WireFormat.ts"
import { promptOf, type Shape } from "./prompts.ts"
import { chunksOf, families, type Kind, streamOf } from "./streams.ts"

export interface Plan {
  readonly rounds: number
  readonly events: number
  /** Streams of one case in one round. */
  readonly streams: number
  readonly kinds: ReadonlyArray<Kind>
  /** Events per chunk: alone, and merged as under load. */
  readonly perChunk: ReadonlyArray<number>
  readonly prompts: ReadonlyArray<{ readonly bytes: number; readonly shapes: ReadonlyArray<Shape> }>
  /** Bytes of prompts that one case handles in one round. */
  readonly bytesPerRound: number
  /** Smaller prompts of a case that are translated before it is measured: a gateway under load runs compiled code. */
  readonly warmUps: number
  readonly faces: ReadonlyArray<FormatName> | null
  readonly families: ReadonlyArray<FamilyName> | null
}

/** Microseconds of CPU per event. */
export interface EventCost {
  readonly face: FormatName
  readonly family: FamilyName
  readonly kind: Kind
  readonly perChunk: number
  readonly best: number
  readonly median: number
  readonly passBest: number
  readonly passMedian: number
  /** Beyond the pass-through: the median of the rounds' differences. */
  readonly extra: number
}

/** Microseconds of CPU per request. */
export interface PromptCost {
  readonly face: FormatName
  readonly family: FamilyName
  readonly shape: Shape
  readonly bytes: number
  readonly parse: number
  readonly whole: number
  /**
   * (parse + translate) / parse, of all rounds but the dearest of each: garbage is collected in some rounds, and that of other
   * code in one.
   */
  readonly ratio: number
  /** (parse + JSON.stringify of the same) / parse: what a request costs that is written anew without being translated. */
  readonly rewritten: number
}

/** Microseconds of CPU that `work` takes, garbage collection included. */
const cpuOf = (work: () => void): number => {
  const begun = process.cpuUsage()
  work()
  const used = process.cpuUsage(begun)
  return used.user + used.system
}

const wanted = <Name extends string>(names: ReadonlyArray<Name> | null, name: Name): boolean => names === null || names.includes(name)

const pairsOf = (plan: Plan): ReadonlyArray<{ readonly face: ClientCodec; readonly family: UpstreamCodec }> =>
  families.filter((family) => wanted(plan.families, family)).flatMap((family) =>
    Formats.clients.filter((face) => wanted(plan.faces, face.name)).map((face) => ({ face, family: Formats.family(family) }))
  )

// ---- streams -----------------------------------------------------------------------------------------------------------------------

const dialectOptions = { model: "m", request: { model: "m", stream: true }, makeId: () => "Vn1rT5wYb7Lc2dEf9Gh4Kj6M", now: () => 1_760_000_000 }

const drain = (tap: StreamTap, chunks: ReadonlyArray<Buffer>): number => {
  let bytes = 0
  for (const chunk of chunks) bytes += tap.push(chunk)?.length ?? 0
  return bytes + (tap.end()?.length ?? 0)
}

class StreamCase {
  readonly face: FormatName
  readonly family: FamilyName
  readonly kind: Kind
  readonly perChunk: number
  readonly isPass: boolean
  readonly us: Array<number> = []
  private readonly chunks: ReadonlyArray<Buffer>
  private readonly makeTap: () => StreamTap

  constructor(face: ClientCodec, family: UpstreamCodec, kind: Kind, perChunk: number, chunks: ReadonlyArray<Buffer>) {
    this.face = face.name
    this.family = family.name
    this.kind = kind
    this.perChunk = perChunk
    this.isPass = Formats.isSame(face.name, family.name)
    this.chunks = chunks
    const dialect = Formats.dialectOf(face, family, dialectOptions)
    this.makeTap = () => dialect.makeTap({ forwardUsage: true })
  }

  /** What is fast and wrong is worth nothing. */
  verify(): void {
    const tap = this.makeTap()
    const bytes = drain(tap, this.chunks)
    if (bytes === 0 || tap.malformed || tap.error !== null || !tap.finished || !tap.terminal || tap.usage === null || tap.outputText() === "") {
      throw new Error(`${this.face} from ${this.family}, ${this.kind}: the stream was not understood`)
    }
  }

  round(streams: number, events: number): void {
    this.us.push(cpuOf(() => {
      for (let i = 0; i < streams; i++) drain(this.makeTap(), this.chunks)
    }) / streams / events)
  }
}

export const measureStreams = (plan: Plan): ReadonlyArray<EventCost> => {
  const cases = plan.kinds.flatMap((kind) => plan.perChunk.flatMap((perChunk) => {
    const chunks = new Map(families.map((family) => [family, chunksOf(streamOf(family, kind, plan.events), perChunk)]))
    const passes = pairsOf({ ...plan, faces: null }).filter(({ face, family }) => Formats.isSame(face.name, family.name))
    const pairs = pairsOf(plan).filter(({ face, family }) => !Formats.isSame(face.name, family.name))
    return [...passes, ...pairs].map(({ face, family }) => new StreamCase(face, family, kind, perChunk, chunks.get(family.name) ?? []))
  }))
  for (const one of cases) one.verify()
  // The first round compiles the functions and is not counted.
  for (let round = 0; round <= plan.rounds; round++) for (const one of cases) one.round(plan.streams, plan.events)
  for (const one of cases) one.us.shift()
  return cases.filter((one) => !one.isPass).map((one): EventCost => {
    const pass = cases.find((other) => other.isPass && other.family === one.family && other.kind === one.kind && other.perChunk === one.perChunk)?.us ?? []
    return {
      face: one.face, family: one.family, kind: one.kind, perChunk: one.perChunk,
      best: Math.min(...one.us), median: median(one.us), passBest: Math.min(...pass), passMedian: median(pass),
      extra: median(one.us.map((us, i) => us - (pass[i] ?? Number.NaN)))
    }
  })
}

// ---- requests ----------------------------------------------------------------------------------------------------------------------

const traits: TargetTraits = {
  model: "target-model", stream: true, maxOutputTokens: 8192, reasoning: false, streamOptions: true, previousResponseId: "auto"
}

/** What a request costs from its bytes to the bytes that go upstream, as the lane does it. */
const translated = (face: ClientCodec, family: UpstreamCodec, body: Buffer): number => {
  const parsed = JSON.parse(body.toString("utf8")) as Record<string, unknown>
  if (Formats.isSame(face.name, family.name)) {
    return Splice.edit(body, parsed, family.passThroughEdits(parsed, traits))?.length ?? 0
  }
  const conversation = face.decodeRequest(parsed)
  if ("_tag" in conversation) throw new Error(`${face.name}: ${conversation.message}`)
  const written = writeRequest(conversation, { body, parsed }, family, traits)
  if ("_tag" in written) throw new Error(`${face.name} to ${family.name}: ${written.message}`)
  return written.body.length
}

const parsedOnly = (body: Buffer): number => Object.keys(JSON.parse(body.toString("utf8")) as object).length

/** What no translation that writes its texts anew goes below. */
const rewrittenOnly = (body: Buffer): number => Buffer.from(JSON.stringify(JSON.parse(body.toString("utf8")))).length

const sumWithoutDearest = (values: ReadonlyArray<number>): number =>
  values.length < 3 ? values.reduce((total, value) => total + value, 0) : values.toSorted((a, b) => a - b).slice(0, -1).reduce((total, value) => total + value, 0)

interface PromptCase {
  readonly face: ClientCodec
  readonly family: UpstreamCodec
  readonly shape: Shape
  readonly body: Buffer
  readonly us: Readonly<Record<Work, Array<number>>>
}

type Work = "parse" | "rewritten" | "whole"

/** Long enough for what treats long texts apart. */
const warmUpBytes = 12_000

export const measurePrompts = (plan: Plan): ReadonlyArray<PromptCost> => {
  const cases = plan.prompts.flatMap(({ bytes, shapes }) => shapes.flatMap((shape) => pairsOf(plan).flatMap(({ face, family }): ReadonlyArray<PromptCase> => {
    const prompt = promptOf(face.name, shape, bytes)
    return prompt === null ? [] : [{ face, family, shape, body: Buffer.from(JSON.stringify(prompt)), us: { parse: [], rewritten: [], whole: [] } }]
  })))
  let sink = 0
  for (const { face, family, shape } of cases) {
    const body = Buffer.from(JSON.stringify(promptOf(face.name, shape, warmUpBytes)))
    for (let i = 0; i < plan.warmUps; i++) sink += translated(face, family, body)
  }
  for (let round = 0; round <= plan.rounds; round++) {
    for (const { body, face, family, us } of cases) {
      const times = Math.max(2, Math.round(plan.bytesPerRound / body.length))
      const works: ReadonlyArray<readonly [Work, () => number]> = [
        ["parse", () => parsedOnly(body)], ["rewritten", () => rewrittenOnly(body)], ["whole", () => translated(face, family, body)]
      ]
      // Turn about, so that none pays for another's garbage every time.
      for (const [name, work] of round % 2 === 0 ? works : works.toReversed()) {
        const used = cpuOf(() => {
          for (let i = 0; i < times; i++) sink += work()
        }) / times
        if (round > 0) us[name].push(used)
      }
    }
  }
  if (sink === 0) throw new Error("nothing was translated")
  return cases.map(({ body, face, family, shape, us }) => {
    const parse = sumWithoutDearest(us.parse)
    return {
      face: face.name, family: family.name, shape, bytes: body.length, parse: median(us.parse), whole: median(us.whole),
      ratio: sumWithoutDearest(us.whole) / parse, rewritten: sumWithoutDearest(us.rewritten) / parse
    }
  })
}
