/** Asks the engines of a plan about the texts of a request, one engine after the other, and puts what they say in its body. Pure. */
import type { EngineId } from "#schemas/words/Compression.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type * as Edits from "#src/wire/json/edits.ts"
import * as Caveman from "./caveman.ts"
import * as Lite from "./lite.ts"
import type { Piece } from "./Piece.ts"
import * as Pieces from "./pieces.ts"
import type { Plan, Stage } from "./plan.ts"
import * as Rtk from "./rtk/rtk.ts"

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

class Work {
  readonly techniques = new Set<string>()
  readonly removals = new Map<string, number>()
  readonly skipped = new Set<string>()
  readonly errors: Array<string> = []
  private readonly plan: Plan

  constructor(plan: Plan) {
    this.plan = plan
  }

  stage(pieces: ReadonlyArray<Piece>, stage: Stage): ReadonlyArray<string> {
    switch (stage.engine) {
      case "lite":
        return Lite.compress(pieces, this.plan.preserveSystemPrompt).map(({ technique, text, validation }) => {
          if (technique !== null) this.techniques.add(technique)
          this.errors.push(...validation.errors)
          return text
        })
      case "caveman":
        return pieces.map((piece) => this.caveman(piece, stage.options))
      case "rtk":
        return pieces.map((piece) => this.rtk(piece, stage.options))
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

  private rtk({ command, frozen, role, text }: Piece, options: Rtk.Options): string {
    const { config } = options
    if (frozen || role !== "tool" || !config.applyToToolResults) return text
    const filter = Rtk.filterOf(command, text)
    if (filter === null) return this.leave(text, "no_known_command_output")
    if (!Rtk.allows(config, filter)) return this.leave(text, "filter_disabled")
    const said = Rtk.shorten(text, filter, options)
    for (const technique of said.techniques) this.techniques.add(`rtk:${technique}`)
    this.errors.push(...said.validation.errors)
    return said.text
  }

  private leave(text: string, why: string): string {
    this.skipped.add(why)
    return text
  }
}

const tokensIn = (pieces: ReadonlyArray<Piece>): number => pieces.reduce((sum, { text }) => sum + tokensOf(text), 0)

/** The texts as they are said now. */
export const ofPieces = (plan: Plan, given: ReadonlyArray<Piece>): Said => {
  const work = new Work(plan)
  const originalTokens = tokensIn(given)
  const engines: Array<Saved> = []
  let pieces = given
  let before = originalTokens
  for (const stage of plan.stages) {
    const texts = work.stage(pieces, stage)
    pieces = pieces.map((piece, i) => texts[i] === piece.text ? piece : { ...piece, text: texts[i] as string })
    const after = tokensIn(pieces)
    engines.push({ engine: stage.engine, before, after })
    before = after
  }
  return {
    texts: pieces.map(({ text }) => text), report: work,
    savings: { originalTokens, compressedTokens: before, engines, validationFallback: work.errors.length > 0 }
  }
}

export interface Compressed {
  /** Null = nothing changes. */
  readonly changes: ReadonlyArray<Edits.Change> | null
  readonly savings: Savings
}

/** What changes in a body of a client's format. */
export const ofBody = (plan: Plan, format: FormatName, body: Body): Compressed => {
  const { pieces } = Pieces.of(format, body)
  const { savings, texts } = ofPieces(plan, pieces)
  const changed = pieces.flatMap(({ path, text }, i) => texts[i] === text ? [] : [{ path, to: texts[i] as string }])
  return { changes: changed.length === 0 ? null : changed, savings }
}

