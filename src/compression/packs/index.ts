/** The rule packs, by language. Data: a pack is a JSON file beside this one and a line here. */
import type { Intensity, Role } from "#schemas/words/Compression.ts"
import de from "./de.json" with { type: "json" }
import en from "./en.json" with { type: "json" }
import es from "./es.json" with { type: "json" }
import fr from "./fr.json" with { type: "json" }
import ja from "./ja.json" with { type: "json" }
import ptBr from "./pt-BR.json" with { type: "json" }

export type Language = "en" | "pt-BR" | "es" | "de" | "fr" | "ja"

export interface Rule {
  readonly name: string
  /** A regular expression that is matched in time that grows with the text alone. */
  readonly pattern: string
  readonly flags: string
  /** What a match becomes; empty = it goes. */
  readonly replacement?: string
  /** What each match becomes, by its lower-case text. */
  readonly replacementMap?: Readonly<Record<string, string>>
  /** Whose texts it is for. */
  readonly context: "all" | Exclude<Role, "tool">
  readonly category: "filler" | "context" | "structural" | "dedup" | "terse" | "ultra"
  /** The mildest intensity that has it. */
  readonly minIntensity: Intensity
}

export interface Pack {
  readonly language: Language
  readonly category: string
  readonly rules: ReadonlyArray<Rule>
}

/** The shapes are proved by test/compression/packs.test.ts, not at start. */
export const packs = [en, ptBr, es, de, fr, ja] as unknown as ReadonlyArray<Pack>

const byLanguage = new Map(packs.map((pack) => [pack.language, pack]))
export const packOf = (language: Language): Pack => byLanguage.get(language) as Pack
