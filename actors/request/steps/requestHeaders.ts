/** Headers of the questions about a job. Pure. */

/** Members of the first call that say what its body is. */
const ofBody: ReadonlySet<string> = new Set(["content-type", "content-length"])

/** The first call's headers for a question about its job, which is JSON where it has a body. */
export const ofJob = (headers: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...headers.filter((_, i) => !ofBody.has(headers[i - i % 2] as string)), "content-type", "application/json"]
