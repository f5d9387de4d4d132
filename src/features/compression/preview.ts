/** What compression does to given messages and outputs, for an operator who tries it. Pure. */
import type { CompressionSettings, Mode } from "#schemas/words/Compression.ts"
import * as Compress from "#src/compression/compress.ts"
import * as Masking from "#src/compression/masking.ts"
import * as Pieces from "#src/compression/pieces.ts"
import type { Plan } from "#src/compression/plan.ts"
import * as Filters from "#src/compression/rtk/filters.ts"
import * as Rtk from "#src/compression/rtk/rtk.ts"
import type * as Validation from "#src/compression/validation.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as Edits from "#src/wire/json/edits.ts"
import type { Preview } from "./api.ts"

/** Kept pieces that are shown. */
const mostShown = 200

type Messages = Preview["original"]

const percentOf = (before: number, after: number): number => before === 0 ? 0 : Math.round((before - after) / before * 1_000) / 10

/** Tokens of both texts, and how many fewer there are. */
const counted = (before: number, after: number) => ({ originalTokens: before, compressedTokens: after, tokensSaved: before - after, savingsPct: percentOf(before, after) })

const validationOf = (errors: ReadonlyArray<string>) => ({ valid: errors.length === 0, errors, warnings: [], fallbackApplied: errors.length > 0 })

/** The intensity of the rules in a plan. */
const intensityOf = (plan: Plan | null): string | null => {
  const stage = plan?.stages.find(({ engine }) => engine === "caveman")
  return stage?.engine === "caveman" ? stage.options.intensity : null
}

const nothing = { techniques: [], removals: new Map<string, number>(), skipped: ["engine_disabled"], errors: [] }

/** `plan`: of the mode; null = its engines are off. `now`: a clock, ms. */
export const ofMessages = (messages: Messages, mode: Mode, plan: Plan | null, outputMode: Preview["outputMode"], now: () => number): Preview => {
  const begun = now()
  const { marked, pieces } = Pieces.of("chat-completions", { messages })
  const said = plan === null ? null : Compress.ofPieces(plan, pieces, marked, Compress.MOST_CHARACTERS, Identity.nameOf)
  const changes = pieces.flatMap(({ path, text }, i) => said === null || said.texts[i] === text ? [] : [{ path, before: text, to: said.texts[i] as string }])
  const tokens = said?.savings.originalTokens ?? pieces.reduce((sum, { text }) => sum + Compress.tokensOf(text), 0)
  const report = said?.report ?? (mode === "off" ? { ...nothing, skipped: [] } : nothing)
  const validation = validationOf([...new Set(report.errors)])
  return {
    original: messages, compressed: Edits.documentWith({ messages }, changes).messages,
    ...counted(tokens, said?.savings.compressedTokens ?? tokens), techniquesUsed: [...report.techniques], durationMs: now() - begun,
    mode, intensity: intensityOf(plan), outputMode, skippedReasons: [...report.skipped],
    diff: changes.map(({ before, path, to }) => ({ path: path.join("."), before, after: to })),
    preservedBlocks: changes.flatMap(({ to }) => Masking.mask(to, () => false)?.kept ?? []).slice(0, mostShown),
    ruleRemovals: Array.from(report.removals, ([rule, count]) => ({ rule, count })), rulesApplied: [...report.removals.keys()],
    validation, validationWarnings: validation.warnings, validationErrors: validation.errors, fallbackApplied: validation.fallbackApplied
  }
}

/** `command` null: the output is known by its lines. */
export const ofOutput = (text: string, command: string | null, config: CompressionSettings["rtkConfig"], now: () => number) => {
  const begun = now()
  const filter = command === null ? Filters.detected(text, config) : Filters.filterOf(command, text, config)
  const isUsed = filter !== null && config.enabled && Rtk.allows(config, filter)
  const said: { readonly text: string; readonly techniques: ReadonlyArray<string>; readonly validation: Validation.Validation } = isUsed
    ? Rtk.shorten(text, filter, { config, intensity: config.intensity })
    : { text, techniques: [], validation: { valid: true, errors: [] } }
  return {
    detection: { filterId: filter?.id ?? null, label: filter?.label ?? null, by: filter === null ? null : command === null ? "output" as const : "command" as const },
    original: text, compressed: said.text, ...counted(Compress.tokensOf(text), Compress.tokensOf(said.text)), techniquesUsed: said.techniques, durationMs: now() - begun,
    validation: validationOf(said.validation.errors)
  }
}
