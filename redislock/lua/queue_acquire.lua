-- Takes the lock, or a place in the queue, or says what has come of that: any
-- repetition by the same waiter does the same.
-- ARGV[2] the lease and ARGV[3] the grant timeout in milliseconds. ARGV[4] is 1
-- to take a place if the lock is not free.
-- Returns {token, 0, time, 0} if the waiter owns the lock, with a whole lease
-- ahead; else {0, span, time, ahead}: it should ask again in span milliseconds, or
-- whenever it likes if that is -1; where it takes no place, span is -1 unless the lock
-- was handed on. There are so many waiters ahead, or -1 if it has no place.
local holder, token = owner()
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
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
    return {token, 0, now, 0}
  end
end
if ARGV[4] == '1' then
  if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
    redis.call('ZADD', KEYS[2], string.format('%.0f', number()), ARGV[1])
  end
  -- A waiter asks again at least once a minute.
  redis.call('PEXPIRE', KEYS[2], 600000)
end
local ahead = redis.call('ZRANK', KEYS[2], ARGV[1]) or -1
local left = redis.call('PTTL', KEYS[1])
if not lapsed and ARGV[4] == '1' then
  left = ask_in(ahead, left, tonumber(token), tonumber(ARGV[3]), tonumber(ARGV[2]))
end
return {0, (lapsed or ARGV[4] == '1') and left or -1, now, ahead}
