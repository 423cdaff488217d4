package redisassigner

// swapScript replaces the record in the field ARGV[1] of the hash KEYS[1] by ARGV[3], if it has what the guard ARGV[2]
// says; null: if there is none. A client that gets no answer may send the same call again: the record then has its
// Swap already, and the answer is the one that was lost. Fields that no guard compares may be numbers, which Lua would
// round: a record is read by it, but never written anew. Server time is put in front as text, for the same reason.
const swapScript = `
local guard = cjson.decode(ARGV[2])
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if stored then
	local record = cjson.decode(stored)
	if record.Swap == cjson.decode(ARGV[3]).Swap then
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
redis.call('HSET', KEYS[1], ARGV[1], string.format('{"Written":%s%06d,%s', now[1], now[2], string.sub(ARGV[3], 2)))
return 1
`
