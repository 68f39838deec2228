-- Prefix of every script of the queue with several holders. It follows grant.lua and uses
-- its now, mailbox, post and number.
-- KEYS[1] the holders: a sorted set by the end of their time.
-- KEYS[5] the holders' tokens: a hash. The other keys are as in grant.lua.
-- A waiter or holder has the name mailbox:number:limit. It shares the lock with at most
-- limit - 1 others.

local function limit(waiter)
  return tonumber(string.match(waiter, '%d+$'))
end

-- Reports whether the waiter may share the lock with the present holders. These allow each
-- other, so the check of one of them is enough.
local function fits(waiter)
  local n = redis.call('ZCARD', KEYS[1])
  return n == 0 or n < math.min(limit(waiter), limit(redis.call('ZRANGE', KEYS[1], 0, 0)[1]))
end

-- Extends the time to live of a key to at least span milliseconds.
local function keep(key, span)
  redis.call('PEXPIRE', key, math.max(span, redis.call('PTTL', key)))
end

-- Reports whether the waiter is a holder whose time has not run out.
local function holds(waiter)
  return now < tonumber(redis.call('ZSCORE', KEYS[1], waiter) or 0)
end

-- Gives a holder span milliseconds from now. A server that is out of memory refuses the
-- first write of a script if that may need memory. A renewal must not be refused, so keep
-- comes first.
local function prolong(waiter, span)
  keep(KEYS[1], span)
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + span * 1000), waiter)
end

-- Makes waiter a holder with that token for span milliseconds. A renewal may fail to extend
-- the key of the tokens, so that key lives for at least a day.
local function admit(waiter, span, token)
  redis.call('HSET', KEYS[5], waiter, token)
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + span * 1000), waiter)
  keep(KEYS[1], span)
  keep(KEYS[5], math.max(span, 86400000))
end

-- Returns whether waiter was a holder until now.
local function dismiss(waiter)
  redis.call('HDEL', KEYS[5], waiter)
  return redis.call('ZREM', KEYS[1], waiter) == 1
end

-- Dismisses the holders whose time has run out. If the key of the holders has expired, it
-- deletes the tokens that are left.
local function reap()
  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp)) do
    dismiss(waiter)
  end
  if redis.call('EXISTS', KEYS[1]) == 0 and redis.call('EXISTS', KEYS[5]) == 1 then
    redis.call('DEL', KEYS[5])
  end
end

-- Returns the milliseconds until the time of the first holder ends, or 0 without holders.
local function left()
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return first[2] and math.max(math.ceil((first[2] - now) / 1000), 0) or 0
end

-- Notifies the first waiter of the time at which the lock can be free. It asks again then.
local function tell()
  local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if first then
    post(first, '0', left())
  end
end

-- Returns the milliseconds after which the waiter with ahead waiters before it should check
-- the holders: the least result of ask_in. Holders are in order of the end of their time. The
-- loop stops at the first one for which ask_in returns that end.
local function watch(ahead, grant, lease)
  local soonest = -1
  local holders = redis.call('ZRANGE', KEYS[1], 0, 15, 'WITHSCORES')
  for i = 1, #holders, 2 do
    local span = math.max(math.ceil((holders[i + 1] - now) / 1000), 0)
    local at = ask_in(ahead, span, tonumber(redis.call('HGET', KEYS[5], holders[i])), grant, lease)
    if soonest < 0 or at < soonest then
      soonest = at
    end
    if at == span then
      break
    end
  end
  return soonest
end

-- Admits waiters for span milliseconds, in order of arrival, until one does not fit. They
-- must ask for a whole lease within that time. It skips waiters that do not read, as grant
-- does. It admits self for lease milliseconds, without a notification. Returns the token of
-- self if it was admitted, and whether other waiters were.
local function serve(span, self, lease)
  local token, others = nil, false
  while true do
    local waiter = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
    if not waiter or not fits(waiter) then
      return token, others
    end
    redis.call('ZREM', KEYS[2], waiter)
    local n, text = number()
    if waiter == self then
      token = n
      admit(self, lease, text)
    elseif post(waiter, text, span, span * 1000) then
      admit(waiter, span, text)
      others = true
    end
  end
end
