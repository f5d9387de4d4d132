/** Members of records and of addresses. Pure. */
type Members = Readonly<Record<string, unknown>>

/** Those of `now` that differ from what they were. */
export const changedIn = <A extends object>(now: A, before: object): Partial<A> =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify((before as Members)[name]))) as Partial<A>

/** What an address holds: nothing is written for what is empty. */
export const filled = <A extends object>(members: A): Partial<A> => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== "" && value !== undefined)) as Partial<A>
