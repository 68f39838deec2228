-- Gives the lock back once, and tells the first in the queue if it is free then.
-- KEYS[4] what this release has done, should it be sent again. ARGV[5] for how
-- many milliseconds to keep that. ARGV[6] what the channels of waiters begin
-- with. ARGV[7] the message.
-- Returns 1 if the lock is free, 0 if the owner still has it, or nothing if it
-- did not have it.
local known = redis.call('GET', KEYS[4])
if known then
  return tonumber(known)
end
local first = head()
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('SET', KEYS[4], 0, 'PX', ARGV[5])
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[4], 1, 'PX', ARGV[5])
if first then
  redis.call('PUBLISH', ARGV[6] .. first, ARGV[7])
end
return 1
