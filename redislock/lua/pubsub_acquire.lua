-- Takes the lock, or takes it again for the same owner.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 1 if the owner holds the lock, with a whole lease ahead; else minus the
-- milliseconds, rounded up, for which another has it, 0 if for ever.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
  return -1 - redis.call('PTTL', KEYS[1])
end
-- If it is ours the reply to an earlier request was lost.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
