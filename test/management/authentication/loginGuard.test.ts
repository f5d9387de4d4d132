/** Which addresses share one count of failed sign-ins. */
import { expect, it } from "vitest"
import { bucketOf } from "#src/management/authentication/brake/LoginGuard.ts"

it("addresses of one IPv6 /64 network share a count, in each of their forms; of another network they do not", () => {
  const one = ["2001:db8:1:2::", "2001:db8:1:2::9", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:ffff::1"]
  expect(one.map(bucketOf)).toEqual(one.map(() => "2001:db8:1:2"))
  expect(["2001:db8:1:3::9", "2001:db8::1", "::1", "fe80::1:2:3:4:5"].map(bucketOf)).toEqual(["2001:db8:1:3", "2001:db8:0:0", "0:0:0:0", "fe80:0:0:1"])
})

it("each IPv4 address has its own, also as IPv6 carries it; callers without an address share one", () => {
  expect(["203.0.113.9", "::ffff:203.0.113.9", null].map(bucketOf)).toEqual(["203.0.113.9", "::ffff:203.0.113.9", "unknown"])
})
