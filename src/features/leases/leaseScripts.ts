/**
 * The transitions of `actors/lease/Lease.ts` as Lua scripts: each runs alone on the server and by its clock, so that neither a node's pause
 * nor its clock can make two holders of one connection. All keys share one hash tag: they live on one node of a Redis cluster.
 *
 *   {leases}:records      hash: owner -> record, eight lines: owner, keyId, keyPrint, connection, generation, acquiredAt, renewedAt, expiresAt
 *   {leases}:holders      hash: connection -> owner
 *   {leases}:epoch        differs in every life of these keys (a flush, an empty replica)
 *   {leases}:highest:<o>  highest generation of owner o in this life; forgotten an hour later, which no draw outlives
 *
 * A change is written `kind|reason|at` and on the following lines its record; reason is empty while the lease lives.
 * There are never more records than connections, so a script may walk over them all.
 */
import type { RedisScript } from "#src/platform/redis/RedisStore.ts"

export const keys = {
  records: "{leases}:records",
  holders: "{leases}:holders",
  epoch: "{leases}:epoch",
  highest: (owner: string): string => `{leases}:highest:${owner}`
} as const

/** How long the highest generation of an owner is kept, ms. */
const highestKeptMs = 3_600_000

const prelude = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local changes = {}

local function text(number) return string.format('%.0f', number) end

local function read(record)
  if not record then return nil end
  local lines = {}
  for line in string.gmatch(record, '[^\\n]+') do lines[#lines + 1] = line end
  return { owner = lines[1], keyId = lines[2], keyPrint = lines[3], connection = lines[4], generation = lines[5],
    acquiredAt = lines[6], renewedAt = lines[7], expiresAt = lines[8] }
end

local function written(lease)
  return table.concat({ lease.owner, lease.keyId, lease.keyPrint, lease.connection, lease.generation,
    lease.acquiredAt, lease.renewedAt, lease.expiresAt }, '\\n')
end

local function isLive(lease) return tonumber(lease.expiresAt) > now end

local function noted(kind, reason, lease) changes[#changes + 1] = kind .. '|' .. reason .. '|' .. text(now) .. '\\n' .. written(lease) end

local function put(lease)
  redis.call('HSET', KEYS[1], lease.owner, written(lease))
  redis.call('HSET', KEYS[2], lease.connection, lease.owner)
end

local function vacate(connection, owner)
  if redis.call('HGET', KEYS[2], connection) == owner then redis.call('HDEL', KEYS[2], connection) end
end

local function ended(lease, reason)
  redis.call('HDEL', KEYS[1], lease.owner)
  vacate(lease.connection, lease.owner)
  local kind = 'INVALIDATED'
  if reason == 'TTL_EXPIRED' then kind = 'EXPIRED' elseif reason == 'OWNER_EXIT' or reason == 'CLIENT_CANCELLED' then kind = 'RELEASED' end
  noted(kind, reason, lease)
end

-- The ACTIVE lease that owner, key and exact generation fit, or nil.
local function claimed(owner, keyId, keyPrint, generation)
  local lease = read(redis.call('HGET', KEYS[1], owner))
  if lease and isLive(lease) and lease.generation == generation and lease.keyId == keyId and lease.keyPrint == keyPrint then return lease end
  return nil
end

-- The lease that holds the connection, expired or not, unless it is the owner's own.
local function competitor(connection, owner)
  local holder = redis.call('HGET', KEYS[2], connection)
  if not holder or holder == owner then return nil end
  return read(redis.call('HGET', KEYS[1], holder))
end
`

/**
 * KEYS records, holders, epoch, highest of the owner
 * ARGV owner, keyId, keyPrint, ttlMs, drawn generation or '', epoch it was drawn for or '', a value no other call has, number of
 *      fitting connections, the fitting connections, the available ones
 * Reply {'granted'|'reused', record, changes} {'draw', epoch, highest} {'capacity', now, freeAt} {'unavailable'} {'stale'}
 */
export const acquire: RedisScript = {
  name: "lease.acquire",
  purpose: "a session lease was acquired",
  lua: `-- Gives the owner a free connection of the available ones, or renews the lease that it has.${prelude}
local owner, keyId, keyPrint, ttl = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local fitting = tonumber(ARGV[8])
local own = read(redis.call('HGET', KEYS[1], owner))
if own and isLive(own) then
  if own.keyId ~= keyId then return { 'stale' } end
  if own.keyPrint == keyPrint then
    for i = 9, 8 + fitting do
      if ARGV[i] == own.connection then
        own.renewedAt = text(now)
        own.expiresAt = text(now + ttl)
        put(own)
        return { 'reused', written(own), changes }
      end
    end
  end
end
if #ARGV == 8 + fitting then return { 'unavailable' } end
local place, expired, freeAt = nil, nil, nil
for i = 9 + fitting, #ARGV do
  local other = competitor(ARGV[i], owner)
  if not other or not isLive(other) then
    place, expired = ARGV[i], other
    break
  end
  local at = tonumber(other.expiresAt)
  if not freeAt or at < freeAt then freeAt = at end
end
if not place then return { 'capacity', text(now), text(freeAt) } end
redis.call('SET', KEYS[3], ARGV[7], 'NX')
local epoch = redis.call('GET', KEYS[3])
local highest = tonumber(redis.call('GET', KEYS[4]) or '0')
if own and tonumber(own.generation) > highest then highest = tonumber(own.generation) end
if ARGV[5] == '' or ARGV[6] ~= epoch or tonumber(ARGV[5]) <= highest then return { 'draw', epoch, text(highest) } end
if own then
  local reason = 'MODEL_INELIGIBLE'
  if not isLive(own) then reason = 'TTL_EXPIRED' elseif own.keyPrint ~= keyPrint then reason = 'MANAGED_KEY_REVOKED' end
  ended(own, reason)
end
if expired then ended(expired, 'TTL_EXPIRED') end
local at = text(now)
local lease = { owner = owner, keyId = keyId, keyPrint = keyPrint, connection = place, generation = ARGV[5],
  acquiredAt = at, renewedAt = at, expiresAt = text(now + ttl) }
put(lease)
redis.call('SET', KEYS[4], ARGV[5], 'PX', ${highestKeptMs})
noted('ACQUIRED', '', lease)
return { 'granted', written(lease), changes }`
}

/** KEYS records, holders; ARGV owner, keyId, keyPrint, generation, ttlMs; reply {'held', record, changes} {'stale'} */
export const renew: RedisScript = {
  name: "lease.renew",
  purpose: "a session lease was renewed",
  lua: `-- Extends the claimed lease to now + ttl.${prelude}
local lease = claimed(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
if not lease then return { 'stale' } end
lease.renewedAt = text(now)
lease.expiresAt = text(now + tonumber(ARGV[5]))
put(lease)
return { 'held', written(lease), changes }`
}

/** KEYS records, holders; ARGV owner, keyId, keyPrint, generation, reason; reply {'held', record, changes} {'stale'} */
export const release: RedisScript = {
  name: "lease.release",
  purpose: "a session lease was released",
  lua: `-- Ends the claimed lease at its owner's wish.${prelude}
local lease = claimed(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
if not lease then return { 'stale' } end
ended(lease, ARGV[5])
return { 'held', written(lease), changes }`
}

/** KEYS records, holders; ARGV owner, keyId, keyPrint, generation; reply {'held', record, changes} {'stale'}; writes nothing */
export const find: RedisScript = {
  name: "lease.find",
  purpose: "a session lease was checked",
  lua: `-- The claimed lease: the fence.${prelude}
local lease = claimed(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
if not lease then return { 'stale' } end
return { 'held', written(lease), changes }`
}

/** KEYS records, holders; ARGV owner, keyId, keyPrint, generation, from, to; reply {'held', record, changes} {'taken'} {'stale'} */
export const move: RedisScript = {
  name: "lease.move",
  purpose: "a session lease was moved to another connection",
  lua: `-- Binds the claimed lease to another connection if it is still at 'from' and no other lease holds 'to'.${prelude}
local lease = claimed(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
if not lease then return { 'stale' } end
local from, to = ARGV[5], ARGV[6]
if lease.connection ~= from or from == to then return { 'held', written(lease), changes } end
local other = competitor(to, lease.owner)
if other and isLive(other) then return { 'taken' } end
if other then ended(other, 'TTL_EXPIRED') end
vacate(from, lease.owner)
lease.connection = to
put(lease)
noted('MOVED', '', lease)
return { 'held', written(lease), changes }`
}

/** KEYS records, holders; ARGV owner, generation, connection, reason; reply {'ended', '', changes} {'stale'} */
export const invalidate: RedisScript = {
  name: "lease.invalidate",
  purpose: "a session lease was ended",
  lua: `-- Ends exactly this lease, unless it has moved or was followed by another meanwhile.${prelude}
local lease = read(redis.call('HGET', KEYS[1], ARGV[1]))
if not lease or lease.generation ~= ARGV[2] or lease.connection ~= ARGV[3] then return { 'stale' } end
local reason = ARGV[4]
if not isLive(lease) then reason = 'TTL_EXPIRED' end
ended(lease, reason)
return { 'ended', '', changes }`
}

/** KEYS records, holders; reply {'swept', number of ACTIVE leases, changes} */
export const sweep: RedisScript = {
  name: "lease.sweep",
  purpose: "expired session leases were removed",
  lua: `-- Takes away what expired.${prelude}
local left = 0
for _, record in ipairs(redis.call('HVALS', KEYS[1])) do
  local lease = read(record)
  if isLive(lease) then left = left + 1 else ended(lease, 'TTL_EXPIRED') end
end
return { 'swept', tostring(left), changes }`
}

/** KEYS records, holders; reply {'active', '', records}; writes nothing */
export const active: RedisScript = {
  name: "lease.active",
  purpose: "active session leases were listed",
  lua: `-- Every ACTIVE lease.${prelude}
local records = {}
for _, record in ipairs(redis.call('HVALS', KEYS[1])) do
  if isLive(read(record)) then records[#records + 1] = record end
end
return { 'active', '', records }`
}
