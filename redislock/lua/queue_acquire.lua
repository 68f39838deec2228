-- Takes the lock or a place in the queue. A repetition by the same waiter keeps what it
-- has and returns the present state.
-- ARGV[2] the lease and ARGV[3] the grant timeout in milliseconds. ARGV[4] is 1
-- to take a place if the lock is not free.
-- Returns {token, 0, time, 0} if the waiter owns the lock, for a whole lease from now.
-- Otherwise returns {0, span, time, ahead}. The waiter should ask again in span
-- milliseconds, or at any time if span is -1. Without a place, span is -1 unless this call
-- handed the lock to another waiter. ahead is the number of waiters before this one, or -1
-- if it has no place.
local holder, token = owner()
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {tonumber(token), 0, now, 0}
end
local lapsed = not holder
if lapsed then
  -- A server that is out of memory refuses only the first write of a script. Without
  -- waiters the first write is the lock's.
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
