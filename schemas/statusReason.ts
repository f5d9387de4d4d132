/**
 * What an HTTP status says of a reply. It is read here only: other code branches on the reason, and writes status numbers into replies
 * and records.
 */

export type StatusReason =
  /** No reply came. */
  | "none"
  | "ok"
  | "redirect"
  /** 1xx, which is no reply. */
  | "unexpected"
  /** 400, 422. */
  | "invalid"
  /** 413. */
  | "too-large"
  /** 401. */
  | "credential"
  /** 402; 432 and 433, by which one vendor says that a plan or its credit is used up. */
  | "payment"
  /** 403. */
  | "forbidden"
  /** 404. */
  | "not-found"
  /** 405. */
  | "wrong-method"
  /** 406. */
  | "not-acceptable"
  /** 408. */
  | "request-timeout"
  /** 429. */
  | "rate-limit"
  /** Another 4xx. */
  | "refused"
  /** 500. */
  | "failed"
  /** 501. */
  | "not-implemented"
  /** 502. */
  | "bad-gateway"
  /** 503. */
  | "unavailable"
  /** 504. */
  | "gateway-timeout"
  /** 507. */
  | "storage-full"
  /** 529, by which some vendors say that they have no capacity. */
  | "overloaded"
  /** Another 5xx. */
  | "server"

const named: ReadonlyMap<number, StatusReason> = new Map([
  [0, "none"], [400, "invalid"], [422, "invalid"], [413, "too-large"], [401, "credential"], [402, "payment"], [432, "payment"], [433, "payment"], [403, "forbidden"], [404, "not-found"],
  [405, "wrong-method"], [406, "not-acceptable"], [408, "request-timeout"], [429, "rate-limit"], [500, "failed"], [501, "not-implemented"],
  [502, "bad-gateway"], [503, "unavailable"], [504, "gateway-timeout"], [507, "storage-full"], [529, "overloaded"]
])

export const of = (status: number): StatusReason =>
  named.get(status) ?? (status < 200 ? "unexpected" : status < 300 ? "ok" : status < 400 ? "redirect" : status < 500 ? "refused" : "server")

/** 2xx. */
export const isOk = (status: number): boolean => status >= 200 && status < 300

/** 304: what was asked for is still as the caller knows it. */
export const isUnchanged = (status: number): boolean => status === 304

/** The lowest status of an error. */
export const FIRST_ERROR = 400

/** 4xx or 5xx. */
export const isError = (status: number): boolean => status >= FIRST_ERROR

/** 5xx: the server's own failure. */
export const isServers = (status: number): boolean => status >= 500

/** 4xx: the server refused the request. */
export const isRefusal = (status: number): boolean => isError(status) && !isServers(status)

/** Time may mend it: a rate limit, or the server's own failure. */
export const isPassing = (status: number): boolean => isServers(status) || of(status) === "rate-limit"

/** The request's own fault: every other server would refuse it, too, and it says nothing about this one. */
export const isRequests = (status: number): boolean => {
  const reason = of(status)
  return reason === "invalid" || reason === "too-large"
}

/** The server has no such endpoint, which says nothing about its models. */
export const isMissing = (status: number): boolean => {
  const reason = of(status)
  return reason === "not-found" || reason === "wrong-method" || reason === "not-implemented"
}
