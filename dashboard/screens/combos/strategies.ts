/** Strategies in one sentence each. */
export const strategies: Readonly<Record<string, string>> = {
  priority: "The first step that works, in the order below.",
  weighted: "By chance, as often as the weights say.",
  "round-robin": "In turn, one after the other.",
  "fill-first": "The first until its quota is used up, then the next.",
  "cost-optimized": "The cheapest that can answer.",
  "least-used": "The one that was asked least.",
  "context-optimized": "The one whose context window fits best.",
  "context-relay": "A long conversation moves to a larger window when its own is full.",
  "cache-optimized": "The one that has the prompt in its cache.",
  p2c: "The less busy of two taken by chance.",
  random: "By chance.",
  "strict-random": "By chance, without another try.",
  "reset-aware": "The one whose quota starts anew soonest.",
  "reset-window": "The one whose weekly window ends first.",
  headroom: "The one with the most quota left.",
  auto: "The one that scores best now.",
  lkgp: "The one that answered last, as long as it works.",
  fusion: "All are asked; one judges and writes the answer.",
  pipeline: "One after the other; each reads what came before.",
  debate: "Several argue, then one decides."
}
