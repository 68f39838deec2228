-- Gives the owner a whole lease again.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the lease in milliseconds.
-- Returns 1, or 0 if the lock is free or another holder's.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
