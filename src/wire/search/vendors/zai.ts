/** Z.AI's web search; the model is its engine. https://docs.z.ai/api-reference/tools/web-search */
import { listAt, results, type SearchVendor } from "#src/wire/search/SearchVendor.ts"

const ranges = { day: "oneDay", week: "oneWeek", month: "oneMonth", year: "oneYear" } as const

export const zai: SearchVendor = {
  most: 50,
  types: ["web"],
  takes: new Set(["time_range"]),
  paging: "none",
  ask: ({ query, timeRange }, variant, count) => ({
    search_engine: variant ?? "search-prime", search_query: query, count, search_recency_filter: timeRange === null ? undefined : ranges[timeRange]
  }),
  answered: (answer) => results(listAt(answer, "search_result"), (one) => ({
    title: one["title"], url: one["link"], snippet: one["content"], published: one["publish_date"], favicon: one["icon"], author: one["media"]
  }))
}
