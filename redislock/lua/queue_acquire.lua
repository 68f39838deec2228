-- Takes the lock, or a place in the queue, or says what has come of that: any
-- repetition by the same waiter does the same.
-- ARGV[2] the lease and ARGV[3] the grant timeout in milliseconds. ARGV[4] is 1
-- to take a place if the lock is not free.
-- Returns {token, 0, time, 0} if the waiter owns the lock, with a whole lease
-- ahead; else {0, span, time, ahead}: somebody should look when the lock can be
-- free, in span milliseconds, or -1 if others will. There are so many waiters
-- ahead, or -1 if it has no place.
local holder, token = owner()
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  tell(ARGV[2])
  return {tonumber(token), 0, now, 0}
end
local lapsed = not holder
if lapsed then
  -- Without waiters nothing is written before the lock is: a server that is out of
  -- memory refuses only the first thing that a script writes.
  if redis.call('EXISTS', KEYS[2]) == 1 then
    holder = grant(tonumber(ARGV[3]), ARGV[1])
  end
  if not holder or holder == ARGV[1] then
    token = own(ARGV[1], ARGV[2])
    if holder then
      tell(ARGV[2])
    end
    return {token, 0, now, 0}
  end
end
if ARGV[4] == '1' then
  if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
    redis.call('ZADD', KEYS[2], string.format('%.0f', number()), ARGV[1])
  end
  -- Who waits asks again at least once a minute.
  redis.call('PEXPIRE', KEYS[2], 600000)
end
local ahead = redis.call('ZRANK', KEYS[2], ARGV[1]) or -1
if lapsed or ahead == 0 then
  return {0, redis.call('PTTL', KEYS[1]), now, ahead}
end
return {0, -1, now, ahead}
