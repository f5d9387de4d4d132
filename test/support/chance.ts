/** Chance that can be repeated. */

/** mulberry32: the same seed, the same run; GATEWAY_TEST_SEED repeats one. */
export const chance = (given?: number) => {
  const seed = given ?? Number(process.env["GATEWAY_TEST_SEED"] ?? Date.now() % 1_000_000)
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    seed,
    below: (n: number) => Math.floor(next() * n),
    one: <A>(list: ReadonlyArray<A>): A => list[Math.floor(next() * list.length)] as A
  }
}
