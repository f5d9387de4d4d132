import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ProviderProbe } from "#src/features/providers/ports/ProviderProbe.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { answer } from "#src/management/answer.ts"
import * as ConnectionRecord from "#src/features/providers/ports/connectionRecord.ts"
import * as Credential from "#src/features/providers/credential.ts"
import { normalizedBase, view } from "./nodeRecord.ts"
import { Connections } from "#src/features/providers/ports/Connections.ts"
import { Nodes } from "./Nodes.ts"
import { ProviderNodesGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

export const layer = HttpApiBuilder.group(Surface.make(ProviderNodesGroup), "providerNodes", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const connections = yield* Connections
  const nodes = yield* Nodes
  const probe = yield* ProviderProbe

  const viewOf = (node: ProviderNode) => view(node, configuration.current())
  const shown = (node: ProviderNode) => ({ node: viewOf(node) })

  const validate = Effect.fn("ProviderNodes.validate")(function*(body: {
    readonly baseUrl: string
    readonly apiKey?: string
    readonly type?: ProviderNode["type"]
    readonly apiType?: NonNullable<ProviderNode["apiType"]>
    readonly chatPath?: string | null
    readonly modelsPath?: string | null
    readonly modelId?: string
  }) {
    const type = body.type ?? "openai-compatible"
    const baseUrl = normalizedBase(type, body.baseUrl)
    yield* connections.checkUrl(baseUrl, "baseUrl")
    const credential = Credential.clean(body.apiKey, "apiKey")
    if (credential instanceof Refusal.Refusal) return yield* Effect.fail(credential)
    const result = yield* probe.probe({
      provider: type,
      authType: credential === null ? "none" : "apikey",
      credential: credential === null ? null : Redacted.make(credential),
      model: body.modelId ?? null,
      providerSpecificData: {},
      node: {
        type, baseUrl, apiType: body.apiType ?? "chat", chatPath: body.chatPath ?? null, modelsPath: body.modelsPath ?? null, customHeaders: {}
      }
    })
    return { valid: result.valid, error: result.diagnosis?.message ?? null }
  })

  return handlers.handleAll({
    list: () => Effect.sync(() => ({ nodes: configuration.current().nodes.map(viewOf) })),
    create: ({ payload }) => answer(Effect.map(nodes.create(payload), ({ connection, node }) => ({
      ...shown(node), ...(connection === null ? {} : { connection: ConnectionRecord.view(connection, configuration.current()) })
    }))),
    validate: ({ payload }) => answer(validate(payload)),
    get: ({ params }) => answer(Effect.map(nodes.get(params.id), shown)),
    update: ({ params, payload }) => answer(Effect.map(nodes.change(params.id, payload), shown)),
    remove: ({ params }) => answer(Effect.as(nodes.remove(params.id), { success: true as const }))
  })
}))
