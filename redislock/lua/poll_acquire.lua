-- Takes the lock, or takes it again for the same owner.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 1 if the owner holds the lock, with a whole lease ahead; else 0.
local owner = redis.call('get', KEYS[1])
if owner == ARGV[1] then
  -- The reply to an earlier request of the same owner was lost.
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
if owner then
  return 0
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 1
