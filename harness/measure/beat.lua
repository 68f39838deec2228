-- Renews a claim and returns all of them, by rank; an empty list if the own has ended.
-- KEYS: the claims, by rank, and what the run has posted.
-- ARGV: the own rank, counted from 1; the value of its claim; how long claims and the
-- rest live, in ms.
local own = tonumber(ARGV[1])
local claims = redis.call('mget', unpack(KEYS, 1, #KEYS - 1))
if claims[own] ~= ARGV[2] then
	return {}
end
redis.call('pexpire', KEYS[own], ARGV[3])
redis.call('pexpire', KEYS[#KEYS], ARGV[4])
return claims
