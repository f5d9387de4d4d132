/** Ids of requests: the gateway's own, which no two requests share, and those that clients gave, which may repeat. */

/** `process`: unique over nodes and restarts; `sequence`: of the request in its process. */
export const make = (process: string, sequence: number): string => `req_${process}-${sequence.toString(36)}`

const form = /^req_.+-[0-9a-z]+-[0-9a-z]+$/

/** Has it the form of those that the gateway makes? */
export const isOwn = (id: string): boolean => form.test(id)
