/** The store of a management surface without a database keeps to the suite, too. */
import { suite } from "#test/suites/SearchStatisticsStore.suite.ts"
import * as MemorySearchStatistics from "#test/support/memorySearchStatistics.ts"

suite("memory", MemorySearchStatistics.layer)
