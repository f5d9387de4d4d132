/** Every record store's suite on one layer. */
import type * as Layer from "effect/Layer"
import type { Stores } from "#src/Stores.ts"
import * as A2aTaskStore from "./A2aTaskStore.suite.ts"
import * as AccessTokenStore from "./AccessTokenStore.suite.ts"
import * as AuditStore from "./AuditStore.suite.ts"
import * as BatchStore from "./BatchStore.suite.ts"
import * as BodyStore from "./BodyStore.suite.ts"
import * as ClusterStore from "./ClusterStore.suite.ts"
import * as CloudTaskStore from "./CloudTaskStore.suite.ts"
import * as ComboMappingStore from "./ComboMappingStore.suite.ts"
import * as ComboStore from "./ComboStore.suite.ts"
import * as CompressionStatisticsStore from "./CompressionStatisticsStore.suite.ts"
import * as ConnectionStore from "./ConnectionStore.suite.ts"
import * as ConversationStore from "./ConversationStore.suite.ts"
import * as CustomModelStore from "./CustomModelStore.suite.ts"
import * as DatabaseTables from "./DatabaseTables.suite.ts"
import * as DocumentStore from "./DocumentStore.suite.ts"
import * as FileRecords from "./FileRecords.suite.ts"
import * as KeyStore from "./KeyStore.suite.ts"
import * as LeaseRecords from "./LeaseRecords.suite.ts"
import * as LimitRecords from "./LimitRecords.suite.ts"
import * as McpServerStore from "./McpServerStore.suite.ts"
import * as MemoryStore from "./MemoryStore.suite.ts"
import * as NodeStore from "./NodeStore.suite.ts"
import * as PluginStore from "./PluginStore.suite.ts"
import * as ProxyHealthStore from "./ProxyHealthStore.suite.ts"
import * as ProxyStore from "./ProxyStore.suite.ts"
import * as ProxySubscriptionStore from "./ProxySubscriptionStore.suite.ts"
import * as QuotaStore from "./QuotaStore.suite.ts"
import * as ResponseCacheStore from "./ResponseCacheStore.suite.ts"
import * as ResponseStore from "./ResponseStore.suite.ts"
import * as SearchStatisticsStore from "./SearchStatisticsStore.suite.ts"
import * as SessionStore from "./SessionStore.suite.ts"
import * as SkillExecutionStore from "./SkillExecutionStore.suite.ts"
import * as SkillStore from "./SkillStore.suite.ts"
import * as SyncTokenStore from "./SyncTokenStore.suite.ts"
import * as UsageCalls from "./UsageCalls.suite.ts"
import * as UsageStatistics from "./UsageStatistics.suite.ts"
import * as UsageStore from "./UsageStore.suite.ts"
import * as WebhookStore from "./WebhookStore.suite.ts"

/** `layer` is called once per suite, so that each may have its own database. */
export const suites = (name: string, layer: () => Layer.Layer<Stores>): void => {
  A2aTaskStore.suite(name, layer())
  AccessTokenStore.suite(name, layer())
  AuditStore.suite(name, layer())
  BatchStore.suite(name, layer())
  BodyStore.suite(name, layer())
  ClusterStore.suite(name, layer())
  ComboMappingStore.suite(name, layer())
  ComboStore.suite(name, layer())
  CompressionStatisticsStore.suite(name, layer())
  ConnectionStore.suite(name, layer())
  ConversationStore.suite(name, layer())
  CustomModelStore.suite(name, layer())
  DatabaseTables.suite(name, layer())
  DocumentStore.suite(name, layer())
  FileRecords.suite(name, layer())
  KeyStore.suite(name, layer())
  LeaseRecords.suite(name, layer())
  LimitRecords.suite(name, layer())
  McpServerStore.suite(name, layer())
  CloudTaskStore.suite(name, layer())
  MemoryStore.suite(name, layer())
  NodeStore.suite(name, layer())
  PluginStore.suite(name, layer())
  ProxyHealthStore.suite(name, layer())
  ProxyStore.suite(name, layer())
  ProxySubscriptionStore.suite(name, layer())
  QuotaStore.suite(name, layer())
  ResponseCacheStore.suite(name, layer())
  ResponseStore.suite(name, layer())
  SearchStatisticsStore.suite(name, layer())
  SessionStore.suite(name, layer())
  SkillExecutionStore.suite(name, layer())
  SkillStore.suite(name, layer())
  SyncTokenStore.suite(name, layer())
  UsageCalls.suite(name, layer())
  UsageStatistics.suite(name, layer())
  UsageStore.suite(name, layer())
  WebhookStore.suite(name, layer())
}
