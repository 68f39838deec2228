-- Renews a claim and returns all claims, by rank.
-- KEYS: the claims, by rank.
-- ARGV: the own rank, counted from 1; the value of its claim; the life of a claim, in ms;
-- 1 to claim the rank if it is free, or 0.
local own = KEYS[tonumber(ARGV[1])]
if ARGV[4] == '1' then
	redis.call('set', own, ARGV[2], 'nx', 'px', ARGV[3])
end
if redis.call('get', own) == ARGV[2] then
	redis.call('pexpire', own, ARGV[3])
end
return redis.call('mget', unpack(KEYS))
