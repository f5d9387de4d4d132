/** What limits do while Redis, Postgres or another node fails. */
export const degradation = {
  feature: "limits",
  redis: "fail-closed for keys with limits, others are served: an amount goes on from the block its node holds (9 s at most), then 503; rates and new sessions 503 at once. Flushed: rebuilt from the ledger at the next exchange, sessions are counted anew",
  postgres: "fail-closed for windows that are not known yet (first use, a restart, a new window with several nodes): 503; meters that are known go on",
  /** The spending of one node is reported to the others within. */
  stalenessMs: 250,
  /** Of a request whose block is empty; other requests do not wait. */
  addedLatencyMs: 50,
  overshoot: "One request per node, key and limit at its edge, and what a request uses above its reservation (prompt, and the least of its own cap, the model's, and the larger of 4096 tokens and twice the key's longest answer of late).",
  killed: "Its block counts as used until it has started again and its journal was replayed, then what the ledger says takes its place; for a node that never comes back, after 15 minutes. Until then it is shown as unsettled. Calls that were in flight have rows without tokens, so what an upstream charged for them is counted nowhere",
  paused: "Its block counts as used from its expiry on until it tells what it spent; paused for more than 15 minutes, the ledger speaks for it until it does. It spends nothing of a block that has expired"
} as const
