-- Prefix of every script of the queue.
-- KEYS[1] the lock: absent if it is free, else its owner and the owner's token.
-- KEYS[2] the queue: a sorted set of waiters, in order of arrival.
-- KEYS[3] a counter that never decreases: tokens, and places in the queue.
-- KEYS[4] the prefix of the keys of mailboxes, which are lists.
--
-- KEYS[4] is never a key itself. While the slot of the lock migrates, a cluster refuses a
-- script that names several keys if one of them does not exist (TRYAGAIN). The missing key
-- makes the cluster refuse before the script writes anything. Without it the script would
-- fail later, at its first command for a key that does not exist. A script that must run
-- during a migration names one key: seize, renew and free name KEYS[1], draw the counter.
--
-- A waiter or owner has the name mailbox:number. ARGV[1] is the caller.
-- Times are in microseconds by the server's clock.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local stamp = string.format('%.0f', now)

local function owner()
  local held = redis.call('GET', KEYS[1])
  if held then
    local waiter, token = string.match(held, '^(%S+) (%d+)$')
    return waiter or held, token -- a value that another program wrote stays
  end
end

local function mailbox(waiter)
  return KEYS[4] .. string.match(waiter, '^[^:]*')
end

-- The mailbox of the calling process, if set. Its notifications are part of the reply.
local here
local notifications = {}

-- Returns n, followed by the notifications for the calling process.
local function reply(n)
  table.insert(notifications, 1, n)
  return notifications
end

-- Writes a notification to the mailbox of a waiter. With token 0 it grants nothing and only
-- reports that the lock is taken for span milliseconds from now. Returns false if another
-- notification has been there unread for limit microseconds; then the process is not reading.
local function post(waiter, token, span, limit)
  local box = mailbox(waiter)
  local notification = waiter .. ' ' .. token .. ' ' .. stamp .. ' ' .. span
  if box == here then
    notifications[#notifications + 1] = notification
    return true
  end
  if redis.call('RPUSH', box, notification) > 1 and limit then
    local written
    for i = 0, 7 do -- the first elements may be words with which a process ends its own pop
      written = written or string.match(redis.call('LINDEX', box, i) or '', '^%S+ %d+ (%d+)')
    end
    if written and now - written >= limit then
      redis.call('RPOP', box)
      return false
    end
  end
  redis.call('PEXPIRE', box, 60000 + 2 * span)
  return true
end

-- Returns the next number of the counter, which is never less than the time. So the numbers
-- increase even if the counter was lost, and the counter may expire a day after its last use.
local function number()
  local n, text, keep = now, stamp, '86400000'
  local counter = KEYS[3] or KEYS[1]
  local last = tonumber(redis.call('GET', counter) or 0)
  if last >= now then -- the clock was set back, or this script admits several waiters
    n = last + 1
    text, keep = string.format('%.0f', n), string.format('%.0f', 86400000 + (n - now) / 1000)
  end
  redis.call('SET', counter, text, 'PX', keep)
  return n, text
end

-- Makes waiter the owner for span milliseconds and returns its token.
local function own(waiter, span)
  local token, text = number()
  redis.call('SET', KEYS[1], waiter .. ' ' .. text, 'PX', span)
  return token
end

-- Returns the milliseconds after which the waiter with ahead waiters before it should check
-- the owner, whose time ends in left milliseconds. Normally that is left. If the owner has
-- had only a grant of grant milliseconds, only the first waiter and the process that handed
-- over check at its end. The other waiters check later, soon enough to notice within a lease
-- that both have died. (A token is the time at which it was made.)
local function ask_in(ahead, left, token, grant, lease)
  if ahead > 0 and token and now - token + left * 1000 <= grant * 1000 + 2000 then
    return math.max(left, lease - grant)
  end
  return left
end

-- Grants the lock to the first waiter for span milliseconds, or frees it without waiters.
-- The waiter must ask for a whole lease within that time. A waiter with a notification that
-- has been unread for that long is skipped. Returns the new owner, or nothing. If the new
-- owner is self, grant writes nothing for it: the caller does.
local function grant(span, self)
  while true do
    local waiter = redis.call('ZPOPMIN', KEYS[2])[1]
    if not waiter then
      redis.call('DEL', KEYS[1])
      return
    end
    if waiter == self then
      return waiter
    end
    local _, token = number()
    if post(waiter, token, span, span * 1000) then
      redis.call('SET', KEYS[1], waiter .. ' ' .. token, 'PX', span)
      return waiter
    end
  end
end
