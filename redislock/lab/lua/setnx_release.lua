-- Releases the lock if the owner still holds it.
-- KEYS[1] the lock. ARGV[1] the owner's nonce.
-- Returns 1 if it did, 0 if the lock is free or another holder's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
