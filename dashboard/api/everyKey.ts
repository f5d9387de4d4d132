/** All keys, where a form offers them or a list says their names: page after page, as the gateway gives them. */
import { useQuery } from "@tanstack/react-query"
import { call } from "./call.ts"
import type { Answer } from "./contract.ts"

const ON_A_PAGE = 1_000
/** Changes of keys read them again at once; those of others are seen after this. */
const FRESH_MS = 60_000

type Keys = Answer<"GET /api/keys">["keys"]

const read = async (signal: AbortSignal): Promise<Keys> => {
  const found = new Map<string, Keys[number]>()
  for (let offset = 0; ; offset += ON_A_PAGE) {
    // oxlint-disable-next-line no-await-in-loop -- one page after another: the gateway has other work
    const { keys } = await call("GET /api/keys", { query: { limit: ON_A_PAGE, offset }, signal })
    for (const key of keys) found.set(key.id, key)
    if (keys.length < ON_A_PAGE) return [...found.values()]
  }
}

export const useEveryKey = () => useQuery<Keys, Error>({ queryKey: ["GET /api/keys", "every"], queryFn: ({ signal }) => read(signal), staleTime: FRESH_MS })
