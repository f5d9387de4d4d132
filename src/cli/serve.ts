/** `gateway serve`: runs the gateway until a signal or POST /api/shutdown, then drains and exits. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as App from "#src/App.ts"
import { LifecycleControl } from "#src/bootstrap/NodeLifecycle.ts"
import type { Values } from "#src/Settings.ts"

export const serve = (settings: Values & { readonly environment: Readonly<Record<string, string | undefined>> }, startedAt: number) =>
  Effect.scoped(Effect.gen(function*() {
    const context = yield* Layer.build(App.layer(settings, startedAt))
    const control = yield* Effect.provideContext(LifecycleControl, context)
    return yield* control.stopRequested
  }))
