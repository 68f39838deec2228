-- Takes the lock, or takes it again for the same owner.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 1 if the owner holds the lock, for a whole lease from now, and 0 if another does.
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
return 1
