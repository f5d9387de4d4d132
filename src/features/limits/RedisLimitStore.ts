/** The limits of all nodes in Redis: one hash per meter and window with the nodes' blocks, one per rate, one sorted set per key's sessions. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type BlockDraw, type BlockDrawn, LimitStore, LimitStoreDown, type Unsettled } from "#actors/limits/ports/LimitStore.ts"
import { slotOf } from "#actors/limits/Rolling.ts"
import { RedisStore, type RedisScript, type SharedStoreDown } from "#src/platform/redis/RedisStore.ts"

/** ms that a block is its node's without another exchange. */
export const leaseMs = 10_000
/** ms that a window's hash outlives its window, for settles that come late. */
const afterEndMs = 60_000
/** Only this part of what is left is given ahead of need: 1 over it. */
const share = 4

/** ms that a node's word that its journals were replayed is kept: longer than a window. */
const replayedKeptMs = 40 * 86_400_000

const prelude = `
    local function text(number) return string.format('%.0f', number) end
    local function clock(given)
      if given ~= '' then return tonumber(given) end
      local time = redis.call('TIME')
      return time[1] * 1000 + math.floor(time[2] / 1000)
    end`

const exchange: RedisScript = {
  name: "limits-exchange",
  purpose: "limits were counted",
  lua: `
    -- Notes what nodes have spent of one meter in one window and gives one the block it asks for; see actors/limits/Blocks.ts.
    -- KEYS[1] hash of the meter and window: u = known, s:<node> = told of that node, b:<node> = its block, t:<node> = lease end in ms
    -- ARGV: node, total, need, want, limit, lease in ms, end of the window in ms, share, now in ms ('' = the server's),
    --   reserved, number of nodes that the ledger knows ('' = it was not asked), then node and amount of each, then nodes that are settled
    -- Reply: {known, booked, told, held, ms until the next block of another node expires ('' = none), then per expired block: node, amount, granted at in ms, ms since its end}; numbers as text,
    --   because Lua cuts them to integers of 32 bits otherwise
    ${prelude}
    local node, total, need, want = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
    local limit, lease = tonumber(ARGV[5]), tonumber(ARGV[6])
    local now = clock(ARGV[9])
    local fields = redis.call('HGETALL', KEYS[1])
    if #fields == 0 and ARGV[11] == '' then return {'0', '0', '0', '0', ''} end
    local spent, blocks, leases, settled, changed = {}, {}, {}, {}, {'u', '1'}
    for i = 1, #fields, 2 do
      local kind, name, value = string.sub(fields[i], 1, 2), string.sub(fields[i], 3), tonumber(fields[i + 1])
      if kind == 's:' then spent[name] = value
      elseif kind == 'b:' then blocks[name] = value
      elseif kind == 't:' then leases[name] = value end
    end
    local seen = tonumber(ARGV[11]) or 0
    local function told(name, amount)
      if amount <= (spent[name] or -1) then return end
      spent[name] = amount
      changed[#changed + 1] = 's:' .. name
      changed[#changed + 1] = text(amount)
    end
    for i = 12, 11 + 2 * seen, 2 do told(ARGV[i], tonumber(ARGV[i + 1])) end
    for i = 12 + 2 * seen, #ARGV do settled[ARGV[i]] = true end
    told(node, total)
    local booked, others, lost, upcoming = 0, 0, {}, nil
    for _, amount in pairs(spent) do booked = booked + amount end
    for name, amount in pairs(blocks) do
      if name ~= node then
        local ends = leases[name] or 0
        if ends <= now and settled[name] then redis.call('HDEL', KEYS[1], 'b:' .. name, 't:' .. name)
        else
          others = others + amount
          if ends <= now then for _, value in ipairs({name, text(amount), text(ends - lease), text(now - ends)}) do lost[#lost + 1] = value end
          elseif not upcoming or ends - now < upcoming then upcoming = ends - now end
        end
      end
    end
    local free = math.max(0, limit - booked - others)
    local held = 0
    if need > 0 then held = math.min(free, math.max(need, math.min(want, math.floor(free / tonumber(ARGV[8]))))) end
    local counted = math.max(held, tonumber(ARGV[10]))
    redis.call('HSET', KEYS[1], unpack(changed))
    if counted > 0 then redis.call('HSET', KEYS[1], 'b:' .. node, text(counted), 't:' .. node, text(now + lease))
    elseif blocks[node] then redis.call('HDEL', KEYS[1], 'b:' .. node, 't:' .. node) end
    -- A node whose clock is behind still uses a window that is over by the server's.
    redis.call('PEXPIREAT', KEYS[1], text(math.max(tonumber(ARGV[7]), clock('')) + ${afterEndMs}))
    local reply = {'1', text(booked), text(spent[node]), text(held), upcoming and text(upcoming) or ''}
    for _, value in ipairs(lost) do reply[#reply + 1] = value end
    return reply`
}

const replayed: RedisScript = {
  name: "limits-replayed",
  purpose: "the recovery of a node's usage was noted",
  lua: `
    -- Notes by the server's clock that a node's journals of earlier lives are in the ledger.
    -- KEYS[1] that time in ms
    -- ARGV: ms that it is kept, now in ms ('' = the server's)
    -- Reply: 1
    ${prelude}
    redis.call('SET', KEYS[1], text(clock(ARGV[2])), 'PX', ARGV[1])
    return 1`
}

/** Fields of a rolling window: n:<begin of a slot in ms> = requests, t:<begin> = moment of the last one in ms, s = seeded. */
const rolling = `
    local function text(number) return string.format('%.0f', number) end
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local window, slot = tonumber(ARGV[1]), tonumber(ARGV[2])
    local counts, last = {}, {}
    local function add(number, at)
      local begin = math.floor(at / slot) * slot
      counts[begin] = (counts[begin] or 0) + number
      last[begin] = math.max(last[begin] or 0, at)
      redis.call('HSET', KEYS[1], 'n:' .. text(begin), text(counts[begin]), 't:' .. text(begin), text(last[begin]))
      redis.call('PEXPIRE', KEYS[1], window + slot + 3600000)
    end`

const permits: RedisScript = {
  name: "limits-permits",
  purpose: "request rates were counted",
  lua: `
    -- Takes places in a rolling window counted in slots: the first at now, the others at the end of the slot; see actors/limits/Rolling.ts.
    -- KEYS[1] hash of the window
    -- ARGV: window in ms, slot in ms, limit, wanted
    -- Reply: {known, granted, begin of the slot in ms, ms to its end, requests in the window, ms until a place comes free}
    ${rolling}
    local limit, want = tonumber(ARGV[3]), tonumber(ARGV[4])
    local fields = redis.call('HGETALL', KEYS[1])
    if #fields == 0 then return {'0', '0', '0', '0', '0', '0'} end
    for i = 1, #fields, 2 do
      local kind, begin = string.sub(fields[i], 1, 2), tonumber(string.sub(fields[i], 3))
      if kind == 'n:' then counts[begin] = tonumber(fields[i + 1])
      elseif kind == 't:' then last[begin] = tonumber(fields[i + 1]) end
    end
    local slots, used = {}, 0
    for begin, count in pairs(counts) do
      if last[begin] + window <= now then redis.call('HDEL', KEYS[1], 'n:' .. text(begin), 't:' .. text(begin))
      else
        used = used + count
        slots[#slots + 1] = {last[begin], count}
      end
    end
    local granted = math.min(want, limit - used)
    local begin = math.floor(now / slot) * slot
    if granted > 0 then
      add(1, now)
      if granted > 1 then add(granted - 1, begin + slot) end
      return {'1', text(granted), text(begin), text(begin + slot - now), text(used + granted), '0'}
    end
    table.sort(slots, function(a, b) return a[1] < b[1] end)
    local left, wait = used, window
    for _, one in ipairs(slots) do
      left = left - one[2]
      if left < limit then
        wait = one[1] + window - now
        break
      end
    end
    return {'1', '0', '0', '0', text(used), text(wait)}`
}

const giveBack: RedisScript = {
  name: "limits-give-back",
  purpose: "a request was taken out of its rate",
  lua: `
    -- Takes one request out of a slot of a rolling window; an unknown or empty slot stays as it is.
    -- KEYS[1] hash of the window, as for limits-permits
    -- ARGV: begin of the slot in ms
    -- Reply: 1
    local count = tonumber(redis.call('HGET', KEYS[1], 'n:' .. ARGV[1]) or '0')
    if count > 1 then redis.call('HINCRBY', KEYS[1], 'n:' .. ARGV[1], -1)
    elseif count == 1 then redis.call('HDEL', KEYS[1], 'n:' .. ARGV[1], 't:' .. ARGV[1]) end
    return 1`
}

const seed: RedisScript = {
  name: "limits-seed",
  purpose: "a request rate was filled from the records",
  lua: `
    -- Gives a rolling window that is not there what the ledger knows; one that is there stays.
    -- KEYS[1] hash of the window, as for limits-permits
    -- ARGV: window in ms, slot in ms, then pairs of age in ms and requests
    -- Reply: 1 = written
    if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
    ${rolling}
    redis.call('HSET', KEYS[1], 's', '1')
    redis.call('PEXPIRE', KEYS[1], window + slot + 3600000)
    for i = 3, #ARGV, 2 do add(tonumber(ARGV[i + 1]), now - tonumber(ARGV[i])) end
    return 1`
}

const session: RedisScript = {
  name: "limits-session",
  purpose: "sessions were counted",
  lua: `
    -- Marks a session as active unless it is new and there are enough.
    -- KEYS[1] sorted set of sessions by the time they were last seen in ms
    -- ARGV: session, limit, idle time in ms after which a session is over
    -- Reply: 1 = active, 0 = one too many
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local idle = tonumber(ARGV[3])
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - idle)
    if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
    redis.call('ZADD', KEYS[1], now, ARGV[1])
    redis.call('PEXPIRE', KEYS[1], idle)
    return 1`
}

const down = ({ message }: SharedStoreDown): LimitStoreDown => new LimitStoreDown({ message })
const numbers = (reply: unknown): ReadonlyArray<number> => Array.isArray(reply) ? reply.map(Number) : []
/** Whole and without an exponent, as Lua reads it back exactly. */
const whole = (value: number): string => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(value))).toFixed(0)

const noBlock = { known: false, booked: 0, reported: 0, held: 0, leaseMs, unsettled: [], nextExpiryMs: null }

const drawnOf = (reply: unknown): BlockDrawn => {
  if (!Array.isArray(reply)) return noBlock
  const [known, booked, reported, held, upcoming, ...lost] = reply.map(String)
  const unsettled: Array<Unsettled> = []
  for (let at = 0; at + 3 < lost.length; at += 4) {
    unsettled.push({ node: lost[at] ?? "", amount: Number(lost[at + 1]), grantedAt: Number(lost[at + 2]), forMs: Number(lost[at + 3]) })
  }
  return { known: known === "1", booked: Number(booked), reported: Number(reported), held: Number(held), leaseMs, unsettled, nextExpiryMs: upcoming === "" ? null : Number(upcoming) }
}

/** `node` must be unique among the nodes that run. `clock` stands for the server's, ms since the epoch; null = the server's after all. */
export const make = (redis: RedisStore["Service"], node: string, clock: () => number | null = () => null): LimitStore["Service"] => {
  const now = (): string => {
    const given = clock()
    return given === null ? "" : whole(given)
  }
  const one = (draw: BlockDraw): Effect.Effect<BlockDrawn, LimitStoreDown> =>
    redis.run(exchange, [`limits:m:${draw.id}`], [
      node, whole(draw.total), whole(draw.need), whole(draw.want), whole(draw.limit), leaseMs, whole(draw.end), share, now(), whole(draw.reserved),
      draw.seen === null ? "" : draw.seen.size, ...Array.from(draw.seen ?? [], ([name, amount]) => [name, whole(amount)]).flat(), ...draw.settled
    ]).pipe(Effect.map(drawnOf), Effect.mapError(down))
  // Releases that kept no moments in it use limits:r: for the hash of a window.
  const windowKey = (id: string) => `limits:w:${id}`
  const replayOf = (name: string) => `limits:n:${name}`
  return LimitStore.of({
    shared: true,
    exchange: (draws) => Effect.forEach(draws, one, { concurrency: "unbounded" }),
    replayed: Effect.suspend(() => redis.run(replayed, [replayOf(node)], [replayedKeptMs, now()])).pipe(Effect.asVoid, Effect.mapError(down)),
    replays: (nodes) => nodes.length === 0 ? Effect.succeed([]) : redis.command("MGET", nodes.map((name) => redis.prefix + replayOf(name))).pipe(
      Effect.map((reply) => Array.isArray(reply) ? reply.map((value) => value === null ? null : Number(value)) : nodes.map(() => null)),
      Effect.mapError(down)
    ),
    permits: (id, windowMs, limit, want) =>
      redis.run(permits, [windowKey(id)], [windowMs, slotOf(windowMs), limit, want]).pipe(
        Effect.map((reply) => {
          const [known = 0, granted = 0, slot = 0, forMs = 0, used = 0, waitMs = 0] = numbers(reply)
          return { known: known === 1, granted, slot, forMs, used, waitMs }
        }),
        Effect.mapError(down)
      ),
    giveBack: (id, _windowMs, slot) => redis.run(giveBack, [windowKey(id)], [whole(slot)]).pipe(Effect.asVoid, Effect.mapError(down)),
    seedPermits: (id, windowMs, _limit, seen) =>
      redis.run(seed, [windowKey(id)], [windowMs, slotOf(windowMs), ...seen.flat()]).pipe(Effect.asVoid, Effect.mapError(down)),
    session: (id, name, limit, idleMs) =>
      redis.run(session, [`limits:s:${id}`], [name, limit, idleMs]).pipe(Effect.map((reply) => Number(reply) === 1), Effect.mapError(down))
  })
}

export const layer = (node: string): Layer.Layer<LimitStore, never, RedisStore> => Layer.effect(LimitStore, Effect.map(RedisStore, (redis) => make(redis, node)))
