-- Reduces an owner's hold count to ARGV[2]. At 0 it frees the lock and publishes a message.
-- KEYS[1] the lock: a hash with one field, the owner, and its count.
-- ARGV[1] the owner. ARGV[3] the channel. ARGV[4] the message.
-- Returns 1, or 0 if the owner does not have the lock.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  if redis.call('EXISTS', KEYS[1]) == 0 then -- the server has lost its data, or the request is a repetition
    redis.call('PUBLISH', ARGV[3], ARGV[4])
  end
  return 0
end
if ARGV[2] ~= '0' then
  -- A server that is out of memory refuses HSET as the first write of a script. So PEXPIRE
  -- comes first, with the time to live that the key has.
  local left = redis.call('PTTL', KEYS[1])
  if left > 0 then
    redis.call('PEXPIRE', KEYS[1], left)
  end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  return 1
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1
