/** What a configuration file may hold: sections of named entries, each with the fields of the management API. */
import * as Schema from "effect/Schema"
import { clearable, Document, listOf, text } from "#schemas/api/fields.ts"
import { NewCombo, StepInput } from "#src/features/combos/api.ts"
import { OwnKey, PolicyInput } from "#src/features/keys/api.ts"
import { ConnectionChange, NewConnection } from "#src/features/providers/api.ts"
import { NewNode } from "#src/features/providers/nodes/api.ts"
import { NewWebhook } from "#src/features/webhooks/api.ts"

const opt = Schema.optionalKey

const { apiKey: _a, name: _n, prefix: _p, ...node } = NewNode.fields
/** Of a connection what an operator sets; what the gateway learns about it is not declared. */
const { globalPriority, group, healthCheckInterval, isActive, maxConcurrent, perKeyProxyEnabled, priority, projectId, proxyEnabled, quotaVisible, quotaWindowThresholds, rateLimitOverrides, rateLimitProtection } = ConnectionChange.fields

/** Its name is the prefix. */
const DeclaredNode = Schema.Struct({ ...node, name: opt(NewNode.fields.name) })

const DeclaredConnection = Schema.Struct({
  provider: NewConnection.fields.provider,
  name: opt(NewConnection.fields.name),
  apiKey: NewConnection.fields.apiKey,
  defaultModel: NewConnection.fields.defaultModel,
  providerSpecificData: opt(Document),
  globalPriority, group, healthCheckInterval, isActive, maxConcurrent, perKeyProxyEnabled, priority, projectId, proxyEnabled, quotaVisible,
  quotaWindowThresholds, rateLimitOverrides, rateLimitProtection
})

const [plain, modelStep, comboStep] = StepInput.members
/** `connection`: a name of the section `providers`, a connection's own name, or its id. */
const Step = Schema.Union([plain, Schema.Struct({ ...modelStep.fields, connection: clearable(text(1, 200)) }), comboStep])

const { models: _m, name: comboName, ...comboFields } = NewCombo.fields
const DeclaredCombo = Schema.Struct({ ...comboFields, models: opt(listOf(Step, 200)) })

const DeclaredKey = Schema.Struct({ name: opt(text(1, 200)), key: opt(OwnKey), ...PolicyInput.fields })

const section = <S extends Schema.Constraint>(entry: S, name: Schema.String = text(1, 200)) => opt(Schema.Record(name, entry))

export const File = Schema.Struct({
  flags: section(Schema.Union([Schema.String, Schema.Boolean, Schema.Finite])),
  nodes: section(DeclaredNode, NewNode.fields.prefix),
  providers: section(DeclaredConnection),
  combos: section(DeclaredCombo, comboName),
  keys: section(DeclaredKey),
  webhooks: section(NewWebhook)
})
export interface File extends Schema.Schema.Type<typeof File> {}
