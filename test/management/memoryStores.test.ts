/** The doubles that the tests of this folder stand on keep the contract of the real stores. */
import * as AccessTokenStore from "#test/suites/AccessTokenStore.suite.ts"
import * as AuditStore from "#test/suites/AuditStore.suite.ts"
import * as BatchStore from "#test/suites/BatchStore.suite.ts"
import * as BodyStore from "#test/suites/BodyStore.suite.ts"
import * as CloudTaskStore from "#test/suites/CloudTaskStore.suite.ts"
import * as SyncTokenStore from "#test/suites/SyncTokenStore.suite.ts"
import * as ComboMappingStore from "#test/suites/ComboMappingStore.suite.ts"
import * as ComboStore from "#test/suites/ComboStore.suite.ts"
import * as ConnectionStore from "#test/suites/ConnectionStore.suite.ts"
import * as CustomModelStore from "#test/suites/CustomModelStore.suite.ts"
import * as DocumentStore from "#test/suites/DocumentStore.suite.ts"
import * as KeyStore from "#test/suites/KeyStore.suite.ts"
import * as LeaseRecords from "#test/suites/LeaseRecords.suite.ts"
import * as NodeStore from "#test/suites/NodeStore.suite.ts"
import * as QuotaStore from "#test/suites/QuotaStore.suite.ts"
import * as ResponseCacheStore from "#test/suites/ResponseCacheStore.suite.ts"
import * as A2aTaskStore from "#test/suites/A2aTaskStore.suite.ts"
import * as MemoryCloudTasks from "#test/support/memoryCloudTasks.ts"
import * as MemorySyncTokens from "#test/support/memorySyncTokens.ts"
import * as MemoryA2a from "#test/support/memoryA2a.ts"
import * as MemoryBatches from "#test/support/memoryBatches.ts"
import * as MemoryBodies from "#test/support/memoryBodies.ts"
import * as MemoryResponseCache from "#test/support/memoryResponseCache.ts"
import * as SessionStore from "#test/suites/SessionStore.suite.ts"
import * as UsageStatistics from "#test/suites/UsageStatistics.suite.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"

AccessTokenStore.suite("memory", MemoryStores.accessTokens)
AuditStore.suite("memory", MemoryStores.audit)
BatchStore.suite("memory", MemoryBatches.layer)
BodyStore.suite("memory", MemoryBodies.layer)
ComboMappingStore.suite("memory", MemoryStores.comboMappings)
ComboStore.suite("memory", MemoryStores.combos)
ConnectionStore.suite("memory", MemoryStores.connections)
CustomModelStore.suite("memory", MemoryStores.customModels)
DocumentStore.suite("memory", MemoryStores.documents)
KeyStore.suite("memory", MemoryStores.keys)
LeaseRecords.suite("memory", MemoryStores.leaseRecords)
NodeStore.suite("memory", MemoryStores.nodes)
QuotaStore.suite("memory", MemoryStores.quotas)
ResponseCacheStore.suite("memory", MemoryResponseCache.layer)
A2aTaskStore.suite("memory", MemoryA2a.storeLayer)
CloudTaskStore.suite("memory", MemoryCloudTasks.layer)
SyncTokenStore.suite("memory", MemorySyncTokens.layer)
SessionStore.suite("memory", MemoryStores.sessions)
UsageStatistics.suite("memory", MemoryStores.usage)
