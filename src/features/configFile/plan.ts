/** What must be done with each record so that it is as the file declares it. Pure. */
import type { FileOwned } from "#schemas/FileOwned.ts"

/** One entry of the file, and what stands for it. */
export interface Entry {
  readonly name: string
  /** Of what is declared. */
  readonly digest: string
  /** What a record cannot change, such as its provider. */
  readonly fixed: string
}

export type Step =
  | { readonly action: "keep" | "adopt" | "change" | "replace"; readonly id: string }
  | { readonly action: "create" }

export interface Standing {
  /** The note of this entry from the last time. */
  readonly owned: FileOwned | undefined
  readonly exists: (id: string) => boolean
  /** A record that an operator made and that this entry means. */
  readonly meant: () => string | null
}

export const step = ({ digest, fixed }: Entry, { exists, meant, owned }: Standing): Step => {
  if (owned !== undefined && exists(owned.id)) {
    if (owned.digest === digest) return { action: "keep", id: owned.id }
    return { action: owned.fixed === fixed ? "change" : "replace", id: owned.id }
  }
  const id = meant()
  return id === null ? { action: "create" } : { action: "adopt", id }
}

/** What the file declared once and declares no more. */
export const dropped = (owned: ReadonlyArray<FileOwned>, declared: ReadonlySet<string>): ReadonlyArray<FileOwned> =>
  owned.filter(({ name }) => !declared.has(name))
