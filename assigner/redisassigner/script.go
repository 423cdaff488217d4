package redisassigner

// swapScript replaces the record in the field ARGV[1] of the hash KEYS[1] by ARGV[3] if the stored
// record has the values of the guard ARGV[2]; null requires that there is no record. If KEYS[2] is
// given, the script also writes the expiry of the record, in microseconds since 1970, to the sorted
// set KEYS[2].
//
// A client that gets no answer may send the same call again. The record then has the Swap of the
// call, and the script repeats the lost answer. Numbers that no guard compares may be larger than
// Lua can hold, so the script decodes a record but never encodes one. It inserts the time as text
// for the same reason. The time is below 2^53 microseconds, which the score of a sorted set holds
// exactly.
//
// The two writes are atomic: Redis sends a script to its replicas and to its append-only file as
// one transaction, and drops a transaction that a crash has cut off. The script writes the set
// first: if the server denies that write, for lack of rights, the script has changed nothing.
const swapScript = `
local guard, mine = cjson.decode(ARGV[2]), cjson.decode(ARGV[3])
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if stored then
	local record = cjson.decode(stored)
	if record.Swap == mine.Swap then
		return 1
	end
	if guard == cjson.null then
		return 0
	end
	for name, value in pairs(guard) do
		if record[name] ~= value then
			return 0
		end
	end
elseif guard ~= cjson.null then
	return 0
end
local now = redis.call('TIME')
if KEYS[2] then
	redis.call('ZADD', KEYS[2], string.format('%.0f', now[1] * 1000000 + now[2] + mine.TTL), ARGV[1])
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('{"Written":%s%06d,%s', now[1], now[2], string.sub(ARGV[3], 2)))
return 1
`

// expiredScript returns how many rows of the hash KEYS[1] are missing from the sorted set KEYS[2],
// and up to ARGV[1] fields and records that have expired, the earliest first. It repairs the
// entries of the set that it reads: it removes entries without a row, and corrects a wrong expiry.
// It returns records that it cannot decode, and the caller rejects them.
const expiredScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local found = {}
for _, field in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[1])) do
	local text = redis.call('HGET', KEYS[1], field)
	if not text then
		redis.call('ZREM', KEYS[2], field)
	else
		local ok, record = pcall(cjson.decode, text)
		local expires = 0
		if ok and type(record) == 'table' and type(record.Written) == 'number' and type(record.TTL) == 'number' then
			expires = record.Written + record.TTL
		end
		if expires > now then
			redis.call('ZADD', KEYS[2], string.format('%.0f', expires), field)
		else
			found[#found + 1] = field
			found[#found + 1] = text
		end
	end
end
local rows = redis.call('HLEN', KEYS[1])
if redis.call('HGET', KEYS[1], 'meta') then
	rows = rows - 1
end
return {rows - redis.call('ZCARD', KEYS[2]), found}
`
