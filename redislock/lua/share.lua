-- Shared by the scripts of the queue with several holders, in front of each of
-- them and behind grant.lua, of which they use now, mailbox, post and number.
-- KEYS[1] the holders: a sorted set by the end of their time.
-- KEYS[5] their tokens: a hash. The other keys are those of grant.lua.
-- A waiter, and a holder, is called mailbox:number:limit: it holds the lock
-- together with limit - 1 others at most.

local function limit(waiter)
  return tonumber(string.match(waiter, '%d+$'))
end

-- Whether the waiter may hold the lock beside those that do. Those agree with each
-- other, so that one of them speaks for all.
local function fits(waiter)
  local n = redis.call('ZCARD', KEYS[1])
  return n == 0 or n < math.min(limit(waiter), limit(redis.call('ZRANGE', KEYS[1], 0, 0)[1]))
end

-- Lets a key live for span milliseconds more at least.
local function keep(key, span)
  redis.call('PEXPIRE', key, math.max(span, redis.call('PTTL', key)))
end

-- Whether the waiter is a holder whose time has not run out.
local function holds(waiter)
  return now < tonumber(redis.call('ZSCORE', KEYS[1], waiter) or 0)
end

-- Gives a holder span milliseconds from now. The life of the key comes first: a server
-- that is out of memory refuses what a script writes first if that may need some, and a
-- renewal must not be refused.
local function prolong(waiter, span)
  keep(KEYS[1], span)
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + span * 1000), waiter)
end

-- Makes waiter a holder with that token for span milliseconds. A renewal may miss the tokens,
-- so they live for a day at least.
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

-- Dismisses the holders whose time has run out. If the key of the holders expired with them,
-- only their tokens are left.
local function reap()
  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp)) do
    dismiss(waiter)
  end
  if redis.call('EXISTS', KEYS[1]) == 0 and redis.call('EXISTS', KEYS[5]) == 1 then
    redis.call('DEL', KEYS[5])
  end
end

-- Returns the milliseconds until the first of the holders runs out of time, 0 if
-- there are none.
local function left()
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return first[2] and math.max(math.ceil((first[2] - now) / 1000), 0) or 0
end

-- Tells the first waiter when the lock can be free, and to ask then.
local function tell()
  local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if first then
    post(first, '0', left())
  end
end

-- Returns in how many milliseconds the waiter at that place should ask whether the
-- holders are still there: what ask_in says of the first of them whose time ends and that
-- has had more than a grant, or of those before.
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

-- Admits waiters for span milliseconds, within which they must ask for more, in
-- the order of arrival, until one does not fit. Those that do not read any more are left
-- out, as by grant; self is admitted for lease instead, without a message. Returns the
-- token of self, if it was among them, and whether others were.
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
