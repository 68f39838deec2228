-- Takes the lock, joins its readers, or takes it again for the same owner.
-- KEYS[1] the lock. ARGV[1] the owner. ARGV[2] the lease in milliseconds. ARGV[3] read
-- or write.
-- Returns nothing if the owner has the lock, else the milliseconds until it expires.
local mode = redis.call('HGET', KEYS[1], 'mode')
local joins = mode == 'read' and ARGV[3] == 'read'
if not mode or joins or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'mode', ARGV[3], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return nil
end
return redis.call('PTTL', KEYS[1])
