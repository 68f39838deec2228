-- Takes the lock, or takes it again for the same owner.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 1, or 0 if another holds the lock.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
  return 0
end
if owner then
  -- The reply to an earlier request of the same owner was lost.
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
