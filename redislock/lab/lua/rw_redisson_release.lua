-- Releases the lock, and publishes a message if no other owner is left.
-- KEYS[1] the lock. ARGV[1] the owner. ARGV[2] the channel. ARGV[3] the message.
-- Returns 1, or 0 if the owner did not have it.
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if redis.call('HLEN', KEYS[1]) == 1 then -- only the field mode is left
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[2], ARGV[3])
end
return 1
