/** Provider nodes, connections and custom models as another feature reads and makes them, with the API's own checks. Pure. */
import type * as Schema from "effect/Schema"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import * as Acting from "#src/features/providers/acting.ts"
import type { ConnectionChange } from "#src/features/providers/api.ts"
import type { ModelInput } from "#src/features/providers/models/api.ts"
import * as CustomModelRecord from "#src/features/providers/models/customModelRecord.ts"
import type { NewNode } from "#src/features/providers/nodes/api.ts"
import * as NodeRecord from "#src/features/providers/nodes/nodeRecord.ts"
import { prefixIssue } from "#src/features/providers/nodes/prefixes.ts"
import * as ProviderData from "#src/features/providers/providerData.ts"
import { inertIssues } from "#src/management/acting.ts"
import { keepRedacted } from "#src/management/redact.ts"
import { builtin } from "#src/providers/Registry.ts"

type Issues = ReadonlyArray<Refusal.FieldIssue>
type Data = Readonly<Record<string, Schema.Json>>

/** Header values that read `[redacted]` keep what stands, and are absent from a new node. */
export const node = (input: Omit<NewNode, "apiKey">, standing: ProviderNode | null, uuid: string, now: string): ProviderNode | Refusal.Refusal =>
  standing === null
    ? NodeRecord.make({ ...input, customHeaders: keepRedacted(input.customHeaders ?? {}, {}) }, uuid, now)
    : NodeRecord.apply(standing, input, now)

export const nodeIssues = (input: Omit<NewNode, "apiKey">, isNew: boolean): Issues => {
  const prefix = isNew ? prefixIssue(input.prefix) : null
  return [...inertIssues(Acting.node, input), ...prefix === null ? [] : [{ field: "prefix", message: prefix }]]
}

export const nodeView = (one: ProviderNode) => NodeRecord.view(one, { fileOwned: new Map() })

/** `provider`: its id. */
export const model = (input: ModelInput, provider: string, standing: CustomModel | null, now: string): CustomModel =>
  CustomModelRecord.apply(standing ?? CustomModelRecord.emptyModel(provider, input.modelId, now), { ...input, provider }, now)

export const modelIssues = (input: ModelInput): Issues =>
  [...inertIssues(Acting.customModel, input), ...CustomModelRecord.headersIn(input).flatMap(([field, headers]) => NodeRecord.headerIssues(field, headers))]

export const modelView = CustomModelRecord.view

/** `provider`: its id; `stored`: the providerSpecificData that stands. */
export const connectionIssues = (input: ConnectionChange, provider: string, stored: Data): Issues => {
  const { providerSpecificData: data } = input
  const refusal = ProviderData.unread(data, builtin.byId.get(provider) ?? null, stored) ?? ProviderData.unsendable(data, stored)
  return [...inertIssues(Acting.connection, input), ...refusal?.error.details ?? []]
}

/** Whether connections of the provider can do without a credential; those of a node always can. */
export const needsCredential = (provider: string, nodeById: Snapshot["nodeById"]): boolean =>
  !nodeById.has(provider) && builtin.byId.get(provider)?.authKinds.includes("none") !== true
