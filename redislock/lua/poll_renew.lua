-- Restarts the owner's lease.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 1, or 0 if the owner does not hold the lock.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
