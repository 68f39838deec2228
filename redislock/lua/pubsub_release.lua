-- Releases the lock if the owner still holds it, and publishes a message.
-- KEYS[1] the lock. ARGV[1] the owner's nonce. ARGV[2] the channel.
-- Returns 1, or 0 if the owner does not hold the lock.
local owner = redis.call('GET', KEYS[1])
if owner ~= ARGV[1] then
  if not owner then -- the server has lost its data, or the request is a repetition
    redis.call('PUBLISH', ARGV[2], ARGV[1])
  end
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], ARGV[1])
return 1
