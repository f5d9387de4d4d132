/** Custom models of a document: found by provider and model. Pure. */
import { shownProvider } from "#actors/ports/Configuration.ts"
import * as RecordDrafts from "#src/features/providers/ports/recordDrafts.ts"
import { keepRedacted } from "#src/management/redact.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { type Document, same } from "#src/features/transfer/document.ts"
import type { Draft } from "./Draft.ts"

export const models = (draft: Draft, given: NonNullable<Document["models"]>): void => {
  const seen = new Set<string>()
  const known = new Map(draft.before.customModels.map((model) => [`${model.provider}/${model.modelId}`, model]))
  const all = new Map(known)
  for (const [index, input] of given.entries()) {
    const at = `models.${index}`
    const provider = knownProvider(draft.after, input.provider)
    if (provider === null) {
      draft.issue(`${at}.provider`, unknownProvider(input.provider))
      continue
    }
    const key = `${provider}/${input.modelId}`
    if (seen.has(key)) {
      draft.issue(`${at}.modelId`, "Another model of the document has this provider and id")
      continue
    }
    seen.add(key)
    if (draft.refused(at, RecordDrafts.modelIssues(input))) continue
    const standing = known.get(key) ?? null
    const { upstreamHeaders } = input
    const clean = standing !== null || upstreamHeaders === undefined ? input : { ...input, upstreamHeaders: keepRedacted(upstreamHeaders, {}) }
    const next = RecordDrafts.model(clean, provider, standing, draft.making.now)
    const name = `${shownProvider(draft.after, provider)}/${input.modelId}`
    if (standing !== null && same({ ...next, updatedAt: "" }, { ...standing, updatedAt: "" })) {
      draft.note("models", name, "unchanged")
      continue
    }
    draft.writes.push({ record: "model", model: next })
    draft.note("models", name, standing === null ? "created" : "changed")
    all.set(key, next)
  }
  draft.after = { ...draft.after, customModels: [...all.values()] }
}
