/** Reads and changes of the management API for screens: cached, polled while the page is visible, and tried again where that is safe. */
import { keepPreviousData, QueryClient, useMutation, useQuery, type UseQueryResult } from "@tanstack/react-query"
import { call, pathOf, Problem } from "./call.ts"
import type { Answer, Call, Input } from "./contract.ts"
import * as Notes from "./notes.ts"

const READ_RETRIES = 2

/** What is worth a second try: nothing answered, or the gateway said "later". */
const isPassing = (error: unknown): boolean => error instanceof Problem && (error.status === 0 || error.status === 503)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, error) => count < READ_RETRIES && isPassing(error),
      refetchOnWindowFocus: true,
      staleTime: 2_000
    },
    mutations: { retry: false }
  }
})

type Read = Extract<Call, `GET ${string}`>

interface ReadOptions {
  /** How often it is read again; null = at the start and when the window gets the focus. */
  readonly everyMs?: number | null
  readonly enabled?: boolean
}

type UseRead = <C extends Read>(name: C, input?: Omit<Input<C>, "body" | "signal">, options?: ReadOptions) => UseQueryResult<Answer<C>, Error>

/** By all calls at once the types of the library would be too large to be compared: the hook's own type says which answer belongs to which call. */
export const useRead: UseRead = ((name: Read, input: object = {}, options: ReadOptions = {}) =>
  useQuery<unknown, Error>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, { ...input, signal }),
    refetchInterval: options.everyMs ?? false,
    enabled: options.enabled ?? true,
    // While a filter changes the old rows stay; another record is never shown in place of the one that is asked for.
    ...(name.includes(":") ? {} : { placeholderData: keepPreviousData })
  })) as UseRead

/** Addresses of what the screen reads right now, without a host. */
export const addressesOf = (): ReadonlyArray<string> => [
  ...new Set(queryClient.getQueryCache().findAll({ type: "active" }).flatMap(({ queryKey: [name, input] }) => {
    if (typeof name !== "string" || !name.startsWith("GET /api/") || name === "GET /api/auth/status" || name === "GET /api/health") return []
    const { params, query } = (input ?? {}) as { readonly params?: Readonly<Record<string, unknown>>; readonly query?: Readonly<Record<string, unknown>> }
    return [pathOf(name.slice("GET ".length), params ?? {}, query ?? {})]
  }))
]

interface Said<C extends Call> {
  /** Told in a note once it is done. */
  readonly said: string | ((answer: Answer<C>) => string)
  /** False: it is no record that nodes act on. */
  readonly isRecord?: boolean
  /** How to take it back; null where there is no way. */
  readonly undo?: ((answer: Answer<C>, input: Omit<Input<C>, "signal">) => (() => Promise<unknown>) | null) | undefined
}

/** A change; what it may have changed is read again. With `told` a note says that it is done, and on how many nodes it acts. */
export const useChange = <C extends Call>(name: C, touches: ReadonlyArray<Read>, then?: (answer: Answer<C>) => void, told?: Said<C>) =>
  useMutation<Answer<C>, Error, Omit<Input<C>, "signal">>({
    mutationFn: (input) => call(name, input),
    onSuccess: async (answer, input) => {
      if (told !== undefined) {
        const id = Notes.tell(typeof told.said === "string" ? told.said : told.said(answer), { undo: told.undo?.(answer, input) ?? null })
        if (told.isRecord !== false) void Notes.follow(id)
      }
      await Promise.all(touches.map((read) => queryClient.invalidateQueries({ queryKey: [read] })))
      then?.(answer)
    }
  })
