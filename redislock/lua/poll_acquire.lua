-- Takes the lock, or takes it again for the same owner.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 0 if another holds the lock; else, with a whole lease ahead, by what
-- this server releases it best: 1 a script, 2 DELEX (Redis 8.4), 3 DELIFEQ (Valkey 9).
local owner = redis.call('get', KEYS[1])
if owner and owner ~= ARGV[1] then
  return 0
end
if owner then
  -- The reply to an earlier request of the same owner was lost.
  redis.call('pexpire', KEYS[1], ARGV[2])
else
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
end
if (redis.VALKEY_VERSION_NUM or 0) >= 0x090000 then
  return 3
end
return (redis.REDIS_VERSION_NUM or 0) >= 0x080400 and 2 or 1
