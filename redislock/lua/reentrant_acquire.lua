-- Sets an owner's hold count to ARGV[2], by taking the lock or by taking it once more. The
-- script is idempotent.
-- KEYS[1] the lock: a hash with one field, the owner, and its count.
-- ARGV[1] the owner. ARGV[3] the lease in milliseconds.
-- Returns {1, 0} if the owner has the lock, for a whole lease from now. Returns {0, left} if
-- another owner has it: left is in milliseconds, rounded up, or 0 if the key does not expire.
-- Returns {-1, 0} if the owner should have had the lock already, but has lost it.
local mine = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if not mine and ARGV[2] ~= '1' then
  return {-1, 0}
end
if not mine and redis.call('EXISTS', KEYS[1]) == 1 then
  return {0, redis.call('PTTL', KEYS[1]) + 1}
end
if mine then -- first: a server that is out of memory refuses HSET as the first write
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, 0}
