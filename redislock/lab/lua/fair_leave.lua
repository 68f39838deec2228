-- Removes a waiter from the queue. The waiters behind it wait for one holder less.
local behind = false
for _, waiter in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if behind then
    redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[4]), waiter)
  end
  behind = behind or waiter == ARGV[1]
end
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('LREM', KEYS[2], 0, ARGV[1])
return 1
