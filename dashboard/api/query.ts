/** Reads and changes of the management API for screens: cached, polled while the page is visible, and tried again where that is safe. */
import { keepPreviousData, QueryClient, useMutation, useQuery } from "@tanstack/react-query"
import { call, Problem } from "./call.ts"
import type { Answer, Call, Input } from "./contract.ts"

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

/** `everyMs`: how often it is read again; null = at the start and when the window gets the focus. */
export const useRead = <C extends Read>(name: C, input: Omit<Input<C>, "body" | "signal"> = {}, options: { readonly everyMs?: number | null; readonly enabled?: boolean } = {}) =>
  useQuery<Answer<C>, Error>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, { ...input, signal }),
    refetchInterval: options.everyMs ?? false,
    enabled: options.enabled ?? true,
    // While a filter changes the old rows stay; another record is never shown in place of the one that is asked for.
    ...(name.includes(":") ? {} : { placeholderData: keepPreviousData })
  })

/** A change; what it may have changed is read again. */
export const useChange = <C extends Call>(name: C, touches: ReadonlyArray<Read>, then?: (answer: Answer<C>) => void) =>
  useMutation<Answer<C>, Error, Omit<Input<C>, "signal">>({
    mutationFn: (input) => call(name, input),
    onSuccess: async (answer) => {
      await Promise.all(touches.map((read) => queryClient.invalidateQueries({ queryKey: [read] })))
      then?.(answer)
    }
  })
