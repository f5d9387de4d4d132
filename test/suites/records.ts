/** Whole records for suites; every field can be overridden. */
import * as Redacted from "effect/Redacted"
import * as Batch from "#actors/batch/Batch.ts"
import { type ApiKey, defaultPolicy } from "#schemas/records/ApiKey.ts"
import type { AuditEntry } from "#schemas/records/AuditEntry.ts"
import type { BatchRecord, BatchState } from "#schemas/batches/Batch.ts"
import type { Combo, ComboMapping } from "#schemas/records/Combo.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { AccessToken, Session } from "#schemas/records/Session.ts"

export const time = "2026-01-01T00:00:00.000Z"

/** `n` seconds after `time`. */
export const at = (n: number): string => new Date(Date.parse(time) + n * 1_000).toISOString()

export const connection = (fields: Partial<Connection> = {}): Connection => ({
  id: "connection-1", provider: "openai", authType: "apikey", name: "Main", email: null, displayName: null, priority: 1,
  globalPriority: null, isActive: true, apiKey: Redacted.make("sk-upstream-secret"), accessToken: null, refreshToken: null,
  idToken: null, tokenType: null, scope: null, projectId: null, expiresAt: null, tokenExpiresAt: null, expiresIn: null,
  testStatus: "unknown", lastError: null, lastErrorType: null, lastErrorSource: null, errorCode: null, lastErrorAt: null,
  lastTested: null, lastHealthCheckAt: null, backoffLevel: 0, bannedSignals: 0, rateLimitedUntil: null, healthCheckInterval: null,
  providerSpecificData: {}, defaultModel: null, consecutiveUseCount: 0, rateLimitProtection: true, maxConcurrent: null,
  group: null, quotaWindowThresholds: null, rateLimitOverrides: null, proxyEnabled: false, perKeyProxyEnabled: false,
  quotaVisible: true, createdAt: time, updatedAt: time, ...fields
})

export const node = (fields: Partial<ProviderNode> = {}): ProviderNode => ({
  id: "node-1", type: "openai-compatible", name: "Local", prefix: "local", apiType: "chat", baseUrl: "http://127.0.0.1:1",
  chatPath: null, modelsPath: null, iconUrl: null, customHeaders: {}, dailyQuotaResetTimezone: null,
  dailyQuotaResetHour: null, createdAt: time, updatedAt: time, ...fields
})

export const customModel = (fields: Partial<CustomModel> = {}): CustomModel => ({
  provider: "openai", modelId: "gpt-x", modelName: null, source: "manual", apiFormat: "chat", supportedEndpoints: ["chat"],
  targetFormat: null, modelType: null, maxInputTokens: null, maxOutputTokens: null, contextWindowOverride: null,
  dimensions: null, supportsVision: null, isFree: null, isHidden: false, supportedInputTypes: ["text"],
  upstreamHeaders: {}, extra: {}, createdAt: time, updatedAt: time, ...fields
})

export const combo = (fields: Partial<Combo> = {}): Combo => ({
  id: "combo-1", name: "fast", description: null, models: [], strategy: "priority", config: {}, allowedProviders: [],
  system_message: null, tool_filter_regex: null, context_cache_protection: false, context_length: null, dimensions: null,
  isActive: true, isHidden: false, sortOrder: 0, createdAt: time, updatedAt: time, ...fields
})

export const comboMapping = (fields: Partial<ComboMapping> = {}): ComboMapping => ({
  id: "mapping-1", pattern: "gpt-*", comboId: "combo-1", priority: 0, enabled: true, description: null, createdAt: time,
  updatedAt: time, ...fields
})

export const apiKey = (fields: Partial<ApiKey> = {}): ApiKey => ({
  id: "key-1", name: "Team", keyHash: "hash-1", keyPrefix: "sk-abcde", keySuffix: "wxyz", sealedKey: null,
  machineId: "machine", issuerId: null, policy: defaultPolicy, createdAt: time, updatedAt: time, lastUsedAt: null, revokedAt: null, ...fields
})

export const session = (fields: Partial<Session> = {}): Session => ({
  id: "session-1", createdAt: 1_000, expiresAt: 2_000, revokedAt: null, ipAddress: "127.0.0.1", issuer: null, subject: null, ...fields
})

export const accessToken = (fields: Partial<AccessToken> = {}): AccessToken => ({
  id: "token-1", name: "Laptop", scope: "read", tokenHash: "token-hash-1", tokenPrefix: "gwa_live_abc", createdAt: time,
  expiresAt: null, lastUsedAt: null, byPassword: true, ...fields
})

export const auditEntry = (fields: Partial<AuditEntry> = {}): AuditEntry => ({
  id: "audit-1", timestamp: time, action: "key.create", actor: "admin", target: "key-1", details: {}, ipAddress: "127.0.0.1",
  resourceType: "api_key", status: "success", requestId: "request-1", ...fields
})

export const ledgerRow = (fields: Partial<LedgerRow> = {}): LedgerRow => ({
  attemptId: "attempt-1", requestId: "request-1", attempt: 1, final: true, startedAt: 1_000_000, settledAt: 1_000_500,
  nodeId: "node-a", endpoint: "/v1/chat/completions", requestedModel: "openai/gpt-x", provider: "openai", model: "gpt-x",
  connectionId: "connection-1", apiKeyId: "key-1", apiKeyName: "Team", combo: null, sessionTag: null, sourceFormat: "openai",
  targetFormat: "openai", stream: true, outcome: "completed", upstreamStatus: 200, status: 200, clientStatus: 200, errorCode: null, phase: null,
  tokensIn: 10, tokensOut: 20, tokensCacheRead: 0, tokensCacheCreation: 0, tokensReasoning: 0, estimated: false, units: null, unpriced: false,
  costUsd: 0.0000000123, latencyMs: 500.25, ttftMs: 12.5, phases: null, tokensCompressed: null, proxyId: null, ...fields
})

/** What Postgres text makes of a string: NUL and lone surrogates become U+FFFD. */
export const asText = (text: string): string => text.replaceAll("\0", "\uFFFD").toWellFormed()

/** What JSON makes of a value: -0 becomes 0. */
export const asJson = <A>(value: A): A => JSON.parse(JSON.stringify(value))

/** A record as a store gives it back; `json` names the fields that keep any text. */
export const kept = <A extends object>(given: A, json: ReadonlyArray<keyof A> = []): A => ({
  ...given,
  ...Object.fromEntries(Object.entries(given).map(([field, value]) => [
    field,
    json.some((name) => name === field) ? asJson(value)
      : typeof value === "string" ? asText(value)
      : value === 0 ? 0
      : value
  ]))
})

export const batchRecord = (id: string, fields: Partial<BatchRecord> = {}, state: Partial<BatchState> = {}): BatchRecord => ({
  id, ownerKeyId: "k1", endpoint: "/v1/chat/completions", inputFileId: `file-${id}`, completionWindow: "24h", model: null, metadata: { note: "häß 日本 😀" },
  outputExpiresSeconds: 3_600, clientAddress: "192.0.2.1", usage: { input: 0, output: 0, cached: 0, reasoning: 0 }, cursor: { line: 1, offset: 0 }, version: 1,
  state: { ...Batch.made(1_000, 86_400_000), ...state }, ...fields
})
