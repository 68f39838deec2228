-- Takes the lock, or takes it again for the same owner.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 1 if the owner holds the lock, for a whole lease from now. If another owner
-- holds it, returns minus the milliseconds that are left, rounded up, or 0 if the key
-- does not expire.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
  return -1 - redis.call('PTTL', KEYS[1])
end
-- If the key is ours, the reply to an earlier request was lost.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
