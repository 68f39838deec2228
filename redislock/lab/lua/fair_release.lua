-- Releases the lock once, and notifies the first waiter if the lock is then free.
-- KEYS[4] the result of this release, for a repetition of the request. ARGV[5] the
-- lifetime of that key in milliseconds. ARGV[6] the prefix of the waiters' channels.
-- ARGV[7] the message.
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
