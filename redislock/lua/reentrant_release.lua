-- Brings the number of times that an owner holds the lock down to ARGV[2]. At 0
-- the lock is free, and those that listen are told.
-- KEYS[1] the lock: a hash with one field, the owner, and its count.
-- ARGV[1] the owner. ARGV[3] the channel. ARGV[4] the message.
-- Returns 1, or 0 if the owner does not have the lock.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  if redis.call('EXISTS', KEYS[1]) == 0 then -- the server has lost its data, or this is a repetition
    redis.call('PUBLISH', ARGV[3], ARGV[4])
  end
  return 0
end
if ARGV[2] ~= '0' then
  -- The life stays as it is; but a server that is out of memory would refuse HSET if it
  -- were the first that this script writes.
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
