-- Takes the lock or a place in the queue. A repetition by the same waiter keeps what it
-- has and returns the present state.
-- ARGV[2] the lease and ARGV[3] the grant timeout in milliseconds. ARGV[4] is 1
-- to take a place if the lock is not available.
-- Returns {token, 0, time, 0} if the waiter holds the lock, for a whole lease from now.
-- Otherwise returns {0, span, time, ahead}. The waiter should ask again in span
-- milliseconds, or at any time if span is -1. Without a place, span is -1 unless this call
-- admitted others. ahead is the number of waiters before this one, or -1 if it has no place.
reap()
local token = redis.call('HGET', KEYS[5], ARGV[1])
if token and redis.call('ZSCORE', KEYS[1], ARGV[1]) then -- KEYS[1] may have been deleted alone
  prolong(ARGV[1], ARGV[2])
  return {tonumber(token), 0, now, 0}
end
local others
token, others = serve(tonumber(ARGV[3]), ARGV[1], ARGV[2])
if token then
  return {token, 0, now, 0}
end
if redis.call('ZCARD', KEYS[2]) == 0 and fits(ARGV[1]) then
  local n, text = number()
  admit(ARGV[1], ARGV[2], text)
  return {n, 0, now, 0}
end
if ARGV[4] == '1' then
  if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
    redis.call('ZADD', KEYS[2], string.format('%.0f', number()), ARGV[1])
  end
  -- A waiter asks again at least once a minute.
  redis.call('PEXPIRE', KEYS[2], 600000)
end
local ahead = redis.call('ZRANK', KEYS[2], ARGV[1]) or -1
if others then
  return {0, left(), now, ahead}
end
return {0, ARGV[4] == '1' and watch(ahead, tonumber(ARGV[3]), tonumber(ARGV[2])) or -1, now, ahead}
