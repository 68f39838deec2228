-- Releases the lock if the owner still holds it, and tells all that listen.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the channel.
-- Returns 1 if it did, 0 if the lock is free or another holder's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], ARGV[1])
return 1
