/** Asks the engines of a plan about the texts of a request, one engine after the other, and puts what they say in its body. Pure. */
import type { EngineId } from "#schemas/words/Compression.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type * as Edits from "#src/wire/json/edits.ts"
import * as Caveman from "./caveman.ts"
import * as Blocks from "./code/blocks.ts"
import * as Aggressive from "./history/aggressive.ts"
import * as Repeats from "./history/repeats.ts"
import * as Ultra from "./history/ultra.ts"
import * as Lite from "./lite.ts"
import type { Piece } from "./Piece.ts"
import * as Pieces from "./pieces.ts"
import type { Plan, Stage } from "./plan.ts"
import * as Accessibility from "./results/accessibility.ts"
import * as Grouping from "./results/grouping.ts"
import * as Ionizer from "./results/ionizer.ts"
import { isQuery } from "./results/queries.ts"
import * as Raw from "./rtk/raw.ts"
import * as Rtk from "./rtk/rtk.ts"
import * as Validation from "./validation.ts"

type Body = Readonly<Record<string, unknown>>

/** What one engine saved, in estimated tokens. */
export interface Saved {
  readonly engine: EngineId
  readonly before: number
  readonly after: number
}

export interface Savings {
  readonly originalTokens: number
  readonly compressedTokens: number
  readonly engines: ReadonlyArray<Saved>
  /** A compressed text was not as it should be, and the original was sent. */
  readonly validationFallback: boolean
  /** Whole outputs that are kept; their shorter forms name them. */
  readonly raw: ReadonlyArray<Raw.RawOutput>
}

/** What was done, for the preview. */
export interface Report {
  readonly techniques: ReadonlySet<string>
  readonly removals: ReadonlyMap<string, number>
  readonly skipped: ReadonlySet<string>
  readonly errors: ReadonlyArray<string>
}

/** Bytes that count as one token. */
export const bytesPerToken = 4
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken)

export interface Said {
  /** The texts, in the order of the pieces. */
  readonly texts: ReadonlyArray<string>
  readonly savings: Savings
  readonly report: Report
}

const noErrors: ReadonlyArray<string> = []

class Work {
  readonly techniques = new Set<string>()
  readonly removals = new Map<string, number>()
  readonly skipped = new Set<string>()
  readonly errors: Array<string> = []
  readonly raw: Array<Raw.RawOutput> = []
  private readonly plan: Plan
  /** As the client said them. */
  private readonly given: ReadonlyArray<Piece>
  private readonly nameOf: Raw.NameOf | null

  constructor(plan: Plan, given: ReadonlyArray<Piece>, nameOf: Raw.NameOf | null) {
    this.plan = plan
    this.nameOf = plan.keepsRaw ? nameOf : null
    this.given = given
  }

  stage(pieces: ReadonlyArray<Piece>, stage: Stage): ReadonlyArray<string> {
    switch (stage.engine) {
      case "lite":
        return Lite.compress(pieces, this.plan.preserveSystemPrompt).map(({ technique, text, validation }) => {
          if (technique !== null) this.techniques.add(technique)
          this.errors.push(...validation.errors)
          return text
        })
      case "session-dedup":
        return Repeats.compress(pieces, this.plan.preserveSystemPrompt).map(({ text, validation }, i) => this.said(stage.engine, pieces[i] as Piece, text, null, validation.errors))
      case "ionizer":
        return pieces.map((piece) => piece.frozen || !isQuery(piece) ? piece.text : this.said(stage.engine, piece, Ionizer.compress(piece.text)))
      case "mcpAccessibility":
        return pieces.map((piece) => piece.frozen || !Accessibility.isTree(piece) ? piece.text : this.said(stage.engine, piece, Accessibility.compress(piece.text, stage.config)))
      case "aggressive":
        return Aggressive.compress(pieces, stage.options).map(({ errors, technique, text }, i) => this.said(stage.engine, pieces[i] as Piece, text, technique, errors))
      case "ultra":
        return Ultra.compress(pieces, stage.config).map(({ errors, text }, i) => this.said(stage.engine, pieces[i] as Piece, text, null, errors))
      case "caveman":
        return pieces.map((piece) => this.caveman(piece, stage.options))
      case "rtk":
        return pieces.map((piece, i) => this.rtk(piece, stage.options, (this.given[i] as Piece).text))
    }
  }

  private caveman({ frozen, role, text }: Piece, options: Caveman.Options): string {
    if (frozen || role === "tool" || !options.config.compressRoles.includes(role)) return text
    if (role === "system" && this.plan.preserveSystemPrompt) return this.leave(text, "system_prompt_preserved")
    const said = Caveman.compress(text, role, options)
    if (said.skipped !== null) this.skipped.add(said.skipped)
    this.errors.push(...said.validation.errors)
    for (const { count, rule } of said.removals) {
      this.techniques.add(`caveman:${rule}`)
      this.removals.set(rule, (this.removals.get(rule) ?? 0) + count)
    }
    return said.text
  }

  private rtk(piece: Piece, options: Rtk.Options, whole: string): string {
    const { config } = options
    const { command, frozen, role, text } = piece
    if (frozen) return text
    if (Blocks.appliesTo(role, config)) return this.blocks(piece, options)
    if (role !== "tool" || !config.applyToToolResults) return text
    if (config.enableGrouping && Grouping.isSearch(piece)) return this.group(piece, config.groupingThreshold)
    const filter = Rtk.filterOf(command, text, config)
    if (filter === null) return this.leave(text, "no_known_command_output")
    if (!Rtk.allows(config, filter)) return this.leave(text, "filter_disabled")
    const said = Rtk.shorten(text, filter, options)
    this.errors.push(...said.validation.errors)
    const told = this.nameOf !== null && said.text !== text ? Raw.told(whole, said.text, config, this.nameOf) : null
    // Where the name of the whole is as long as what is missing, nothing is.
    if (told !== null && told.text.length >= text.length) return text
    for (const technique of said.techniques) this.techniques.add(`rtk:${technique}`)
    if (told === null) return said.text
    this.raw.push(told.raw)
    return told.text
  }

  private blocks(piece: Piece, options: Rtk.Options): string {
    const { errors, techniques, text } = Blocks.shorten(piece.text, options)
    return this.said("rtk", piece, text, techniques[0] ?? null, errors)
  }

  private group(piece: Piece, threshold: number): string {
    const said = Grouping.group(piece.text, threshold)
    const { errors, valid } = Validation.compare(piece.text, said, false)
    return this.said("rtk", piece, valid ? said : piece.text, "grouped", errors)
  }

  /** A text that is longer than it was is not taken. */
  private said(engine: EngineId, { text: before }: Piece, text: string, technique: string | null = null, errors: ReadonlyArray<string> = noErrors): string {
    this.errors.push(...errors)
    if (text === before || text.length > before.length) return before
    this.techniques.add(technique === null ? engine : `${engine}:${technique}`)
    return text
  }

  private leave(text: string, why: string): string {
    this.skipped.add(why)
    return text
  }
}

const tokensIn = (pieces: ReadonlyArray<Piece>): number => pieces.reduce((sum, { text }) => sum + tokensOf(text), 0)

/** Characters of a request that are compressed; about half a second of a thread. What comes later stays. */
export const MOST_CHARACTERS = 2_000_000

/** How many pieces from the first one on are within so many characters. */
const within = (pieces: ReadonlyArray<Piece>, most: number): number => {
  let length = 0
  const end = pieces.findIndex(({ text }) => (length += text.length) > most)
  return end === -1 ? pieces.length : end
}

/** The texts as they are said now. `marked`: the client marked a prefix for a vendor's cache. `most`: characters that are compressed. `nameOf`: of whole outputs; null = none are kept. */
export const ofPieces = (plan: Plan, given: ReadonlyArray<Piece>, marked = false, most = MOST_CHARACTERS, nameOf: Raw.NameOf | null = null): Said => {
  const work = new Work(plan, given, nameOf)
  const originalTokens = tokensIn(given)
  const end = within(given, most)
  const rest = given.slice(end)
  const restTokens = tokensIn(rest)
  const engines: Array<Saved> = []
  let pieces: ReadonlyArray<Piece> = rest.length === 0 ? given : given.slice(0, end)
  if (rest.length > 0) work.skipped.add("too_long")
  let before = originalTokens
  for (const stage of marked ? plan.steady : plan.stages) {
    const texts = work.stage(pieces, stage)
    pieces = pieces.map((piece, i) => texts[i] === piece.text ? piece : { ...piece, text: texts[i] as string })
    const after = tokensIn(pieces) + restTokens
    engines.push({ engine: stage.engine, before, after })
    before = after
  }
  return {
    texts: [...pieces, ...rest].map(({ text }) => text), report: work,
    savings: { originalTokens, compressedTokens: before, engines, validationFallback: work.errors.length > 0, raw: work.raw }
  }
}

export interface Compressed {
  /** Null = nothing changes. */
  readonly changes: ReadonlyArray<Edits.Change> | null
  readonly savings: Savings
}

/** What changes in a body of a client's format. */
export const ofBody = (plan: Plan, format: FormatName, body: Body, nameOf: Raw.NameOf, most = MOST_CHARACTERS): Compressed => {
  const { marked, pieces } = Pieces.of(format, body)
  const { savings, texts } = ofPieces(plan, pieces, marked, most, nameOf)
  const changed = pieces.flatMap(({ path, text }, i) => texts[i] === text ? [] : [{ path, to: texts[i] as string }])
  return { changes: changed.length === 0 ? null : changed, savings }
}

