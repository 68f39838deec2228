-- Takes the lock if ARGV[1] is first in the queue, or takes it again for its owner.
-- Otherwise it joins the queue if ARGV[5] is 1.
-- Returns nothing if the owner has the lock, else the milliseconds to wait before the
-- next request.
local first = head()
local taken = redis.call('EXISTS', KEYS[1]) == 1
if not taken and (not first or first == ARGV[1]) then
  redis.call('LPOP', KEYS[2])
  redis.call('ZREM', KEYS[3], ARGV[1])
  -- Each waiter now waits for one holder less, so the loop visits all of them.
  for _, waiter in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[4]), waiter)
  end
  redis.call('HSET', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return nil
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return nil
end
if ARGV[5] ~= '1' then
  return 1
end
if redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  -- 0 if the lock is free. Another waiter may then get it only much later.
  return math.max(0, redis.call('PTTL', KEYS[1]))
end
local last = redis.call('LINDEX', KEYS[2], -1)
local left
if last then
  left = tonumber(redis.call('ZSCORE', KEYS[3], last)) - now
else
  left = redis.call('PTTL', KEYS[1])
end
redis.call('ZADD', KEYS[3], left + tonumber(ARGV[4]) + now, ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
return left
