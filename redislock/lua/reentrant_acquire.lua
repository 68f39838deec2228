-- Brings the number of times that an owner holds the lock to ARGV[2], by taking
-- it or by taking it once more: any repetition does the same.
-- KEYS[1] the lock: a hash with one field, the owner, and its count.
-- ARGV[1] the owner. ARGV[3] the lease in milliseconds.
-- Returns {1, 0} if the owner has the lock, with a whole lease ahead; {0, left}
-- if another has it, for that many milliseconds, rounded up, or for ever if left is
-- 0; {-1, 0} if the owner should have had it already, and has lost it.
local mine = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if not mine and ARGV[2] ~= '1' then
  return {-1, 0}
end
if not mine and redis.call('EXISTS', KEYS[1]) == 1 then
  return {0, redis.call('PTTL', KEYS[1]) + 1}
end
if mine then -- first: out of memory, a server refuses HSET unless something was written
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, 0}
