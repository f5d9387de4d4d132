/** The doubles that the tests of this folder stand on keep the contract of the real stores. */
import * as AccessTokenStore from "#test/suites/AccessTokenStore.suite.ts"
import * as AuditStore from "#test/suites/AuditStore.suite.ts"
import * as BatchStore from "#test/suites/BatchStore.suite.ts"
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
import * as MemoryA2a from "#test/support/memoryA2a.ts"
import * as MemoryBatches from "#test/support/memoryBatches.ts"
import * as MemoryResponseCache from "#test/support/memoryResponseCache.ts"
import * as SessionStore from "#test/suites/SessionStore.suite.ts"
import * as UsageStatistics from "#test/suites/UsageStatistics.suite.ts"
import * as Memory from "#test/support/memoryStores.ts"

AccessTokenStore.suite("memory", Memory.accessTokens)
AuditStore.suite("memory", Memory.audit)
BatchStore.suite("memory", MemoryBatches.layer)
ComboMappingStore.suite("memory", Memory.comboMappings)
ComboStore.suite("memory", Memory.combos)
ConnectionStore.suite("memory", Memory.connections)
CustomModelStore.suite("memory", Memory.customModels)
DocumentStore.suite("memory", Memory.documents)
KeyStore.suite("memory", Memory.keys)
LeaseRecords.suite("memory", Memory.leaseRecords)
NodeStore.suite("memory", Memory.nodes)
QuotaStore.suite("memory", Memory.quotas)
ResponseCacheStore.suite("memory", MemoryResponseCache.layer)
A2aTaskStore.suite("memory", MemoryA2a.storeLayer)
SessionStore.suite("memory", Memory.sessions)
UsageStatistics.suite("memory", Memory.usage)
