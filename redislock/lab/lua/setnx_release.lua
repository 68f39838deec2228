-- Releases the lock if the owner still holds it.
-- KEYS[1] the lock. ARGV[1] the owner's nonce.
-- Returns 1, or 0 if the owner does not hold the lock.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
