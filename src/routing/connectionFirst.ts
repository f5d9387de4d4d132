/** The same route with the targets of one connection in front, otherwise in its own order. Pure. */
import type { Candidate } from "#src/routing/models/candidate.ts"
import type { Route } from "#src/routing/Router.ts"

export const connectionFirst = (route: Route, connection: string): Route => {
  const { order, targets } = route
  const places = targets.map((_, i) => i)
  const isWanted = (i: number): boolean => targets[i]?.connection?.id === connection
  const arranged = [...places.filter(isWanted), ...places.filter((i) => !isWanted(i))]
  if (arranged.every((place, i) => place === i)) return route
  return {
    ...route,
    targets: arranged.map((i) => targets[i] as Route["targets"][number]),
    order: { ...order, order: arranged.map((i) => order.order[i] as Candidate) },
    // A strategy learns by its own places.
    succeeded: (index) => route.succeeded(arranged[index] ?? index)
  }
}
